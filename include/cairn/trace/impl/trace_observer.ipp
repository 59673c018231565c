// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <cairn/plan/text/action_words.hpp>
#include <cairn/trace/trace_observer.hpp>

namespace cairn {
namespace detail {

/// Whether an action of this kind runs steps or their adjoints.
[[nodiscard]] constexpr bool traced_as_steps(action_kind kind) noexcept {
  return kind == action_kind::advance || kind == action_kind::record || kind == action_kind::turn ||
         kind == action_kind::reverse;
}
/// What an action of this kind calls: the step, the adjoint or the store.
[[nodiscard]] constexpr char const* trace_target(action_kind kind) noexcept {
  return kind == action_kind::reverse ? "adjoint" : traced_as_steps(kind) ? "step" : "store";
}

/// The constant parts of the events of actions.
struct action_texts {
  static constexpr std::size_t kinds = std::size_t(action_kind::done) + 1;
  std::array<std::array<std::string, kinds>, 3> heads;  ///< by phase and kind
  std::array<std::string, kinds> tails;
};
[[nodiscard]] inline action_texts const& all_action_texts() {
  static action_texts const all = [] {
    action_texts made;
    for (std::size_t k = 0; k < action_texts::kinds; ++k) {
      auto const kind = action_kind(k);
      for (std::size_t p = 0; p < 3; ++p)
        made.heads[p][k] =
            std::string{",\"name\":\""}.append(word_of(kind)).append("\",\"cat\":\"").append(word_of(phase(p))) + "\"";
      made.tails[k] = std::string{",\"grad_enabled\":"} + (kind == action_kind::record ? "1" : "0") + ",\"type\":\"" +
                      (traced_as_steps(kind) ? "function" : "method") + "\",\"target\":\"" + trace_target(kind) +
                      "\"";
    }
    return made;
  }();
  return all;
}

}  // namespace detail

CAIRN_DECL trace_observer::trace_observer(trace_writer& log, trace_observer_options const& options)
    : log_{&log}, options_{options}, wants_bytes_{log.wants("bytes")}, wants_arrows_{log.wants("checkpoint")} {
  for (auto const where : {phase::forward, phase::recompute, phase::reverse})
    wants_[std::size_t(where)] = log.wants(word_of(where));
}

CAIRN_DECL void trace_observer::begin(event const& seen) {
  if (open_) give_up();
  if (seen.what().kind == action_kind::done) return;
  opened_ = seen.what();
  in_phase_ = seen.phase();
  open_ = true;
  // `word_of` returns literals, so data() ends with a zero and outlives the span.
  if (wants_[std::size_t(in_phase_)]) span_ = detail::trace_lines::begin(*log_, word_of(in_phase_).data());
  else span_ = {};
}

CAIRN_DECL void trace_observer::end(event const& seen) {
  auto const ended = detail::trace_lines::now(*log_);
  if (span_.event >= 0) detail::trace_lines::leave(*log_, span_);
  open_ = false;
  detail::trace_lines lines{*log_};
  write(lines, ended, false);
  action const& a = opened_;
  switch (a.kind) {
    case action_kind::save: keep(lines, seen, content::state, ended); break;
    case action_kind::record: keep(lines, seen, content::tape, ended); break;
    case action_kind::load: use(lines, seen); break;
    case action_kind::reverse:
      if (a.what == content::tape) use(lines, seen);
      break;
    case action_kind::drop: forget(lines, a.what, a.slot, a.where, ended); break;
    case action_kind::advance:
    case action_kind::turn:
    case action_kind::done: break;
  }
  if (options_.bytes_held && wants_bytes_) {
    auto const bytes = std::int64_t(seen.bytes_held());
    if (bytes == all_held_) return;
    all_held_ = bytes;
    trace_count const all{"all", bytes};
    lines.counted(R"("name":"bytes held","cat":"bytes")", ended, &all, 1);
  }
}

CAIRN_DECL void trace_observer::give_up() noexcept {
  open_ = false;
  if (span_.event < 0) return;
  detail::trace_lines::leave(*log_, span_);
  try {
    auto const ended = detail::trace_lines::now(*log_);
    detail::trace_lines lines{*log_};
    write(lines, ended, true);
  } catch (std::exception const&) {  // no memory for the line
  }
}

CAIRN_DECL void trace_observer::write(detail::trace_lines& lines, std::int64_t ended, bool failed) {
  if (!wants_[std::size_t(in_phase_)]) return;
  action const& a = opened_;
  auto const& texts = detail::all_action_texts();
  constexpr std::size_t most = 64 + 3 * detail::most_event_digits + 32;  // keys, numbers, the word of a tier
  lines.complete(span_, ended,
                 {texts.heads[std::size_t(in_phase_)][std::size_t(a.kind)], texts.tails[std::size_t(a.kind)]}, most,
                 [&](detail::event_text& more) {
    more.put(",\"from\":").number(a.from);
    bool const steps = detail::traced_as_steps(a.kind);
    if (steps) more.put(",\"to\":").number(a.to);
    if (!steps || a.kind == action_kind::record || a.what == content::tape) more.put(",\"slot\":").number(a.slot);
    if (!steps) more.put(",\"tier\":\"").text(word_of(a.where)).put("\"");
    if (a.what == content::tape) more.put(",\"content\":\"tape\"");
    if (failed) more.put(",\"failed\":true");
  });
}

// Notes what a save or a record has put into its slot.
CAIRN_DECL void trace_observer::keep(detail::trace_lines& lines, event const& seen, content what, std::int64_t at) {
  if ((!wants_bytes_ && !wants_arrows_) || opened_.slot < 0) return;
  auto& here = places(what, opened_.where);
  auto const slot = std::size_t(opened_.slot);
  if (slot >= here.size()) here.resize(slot + 1 + slot / 2);
  standing made{span_.began, 0, true, wants_[std::size_t(in_phase_)], false};
  if (what == content::state && wants_bytes_)
    made.known = seen.each_buffer([&](void const*, std::size_t bytes) { made.bytes += bytes; });
  auto& old = here[slot];
  if (what == content::state) held_[std::size_t(opened_.where)] += std::int64_t(made.bytes) - std::int64_t(old.bytes);
  else tapes_ += old.stands ? 0 : 1;
  old = made;
  used_[std::size_t(opened_.where)] = used_[std::size_t(opened_.where)] || what == content::state;
  count(lines, what, at);
}

CAIRN_DECL void trace_observer::forget(detail::trace_lines& lines, content what, slot_index slot, tier where,
                                       std::int64_t at) {
  auto& here = places(what, where);
  if (slot < 0 || std::size_t(slot) >= here.size() || !here[std::size_t(slot)].stands) return;
  if (what == content::state) held_[std::size_t(where)] -= std::int64_t(here[std::size_t(slot)].bytes);
  else --tapes_;
  here[std::size_t(slot)] = {};
  count(lines, what, at);
}

// Draws the arrow to an action that starts from a checkpoint or a tape. A checkpoint that was lost has no arrow.
CAIRN_DECL void trace_observer::use(detail::trace_lines& lines, event const& seen) {
  action const& a = opened_;
  auto const& here = places(a.what, a.where);
  if (a.slot < 0 || std::size_t(a.slot) >= here.size() || !here[std::size_t(a.slot)].stands) return;
  auto const from = here[std::size_t(a.slot)];
  if (a.kind == action_kind::load && from.known && !seen.each_buffer([](void const*, std::size_t) {}))
    return forget(lines, a.what, a.slot, a.where, detail::trace_lines::now(*log_));
  if (wants_arrows_ && from.shown && wants_[std::size_t(in_phase_)])
    lines.arrow(a.what == content::tape ? std::string_view{R"(,"name":"tape","cat":"checkpoint")"}
                                        : std::string_view{R"(,"name":"checkpoint","cat":"checkpoint")"},
                from.since, span_.began);
}

CAIRN_DECL void trace_observer::count(detail::trace_lines& lines, content what, std::int64_t at) {
  if (!wants_bytes_) return;
  std::array<trace_count, tier_count> values;
  std::size_t many = 0;
  if (what == content::tape) {
    values[many++] = {"held", tapes_};
  } else {
    for (std::size_t k = 0; k < tier_count; ++k)
      if (used_[k]) values[many++] = {word_of(tier(k)), held_[k]};
  }
  lines.counted(what == content::tape ? std::string_view{R"("name":"tapes","cat":"bytes")"}
                                      : std::string_view{R"("name":"checkpoints","cat":"bytes")"},
                at, values.data(), many);
}

}  // namespace cairn
