#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every kind of function that users hand over x every kind of mistake: refused by one sentence, or right.

    user_functions.py gcc|clang|nvcc COMPILER [--valid] [KIND...] -- [FLAG...]

A cell is a few lines around one function. Valid ones are compiled into programs, run, and must give the numbers of the
loop; the others must be refused, each by one short error of cairn's, as misuses.py counts it. KIND are the kinds to
look at, all by default; nvcc sees the misuses only, --valid leaves these out.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import misuses

HEAD = """// error: cairn:
#include <cairn/cairn.hpp>
#include <cairn/chains.hpp>
#include <cairn/run/with/jumps.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>
using cairn::step_index;
inline double of_any(double bar) { return bar; }
inline double of_any(cairn::stage_value bar) { return bar.get<double>(); }
"""
TESTS = pathlib.Path(__file__).resolve().parent.parent
TOOL = "#include <cairn/adapt/ad.hpp>\n#include <cairn/adapt/codipack.hpp>\n"  # over a stand-in for the tool
# The loop of all cells: x = 0.9 x, ten steps from 1.5, with parameters x = p x and p = 0.9.
STEP, ADJOINT = "[](double& x) { x *= 0.9; }", "[](double, double& bar) { bar *= 0.9; }"
P_STEP = "[](double& x, double p) { x *= p; }"
P_ADJOINT = "[](double x, double& bar, double p, double& dp) { dp += bar * x; bar *= p; }"
F, DF = "[](double x) { return x; }", "[](double, double& bar) { bar += 1; }"
PLAN = "cairn::revolve{10, 3}"


def near(what, right):
    return f"std::abs({what} - ({right})) < 1e-9"


def derivatives(p):
    return " && ".join([near("r.value", "1.5 * std::pow(0.9, 10)"), near("r.state", "std::pow(0.9, 10)")]
                       + ([near("r.params", "15 * std::pow(0.9, 9)")] if p else []))


def differentiate(step=STEP, adjoint=ADJOINT, f=F, df=DF, p="", right=None):
    right = right or derivatives(p)
    return (f"auto r = cairn::differentiate(cairn::model{{{step}, {adjoint}}}, 1.5, {p}{PLAN}, cairn::at_end({f}, {df}));\n"
            f"return {right};")


def gradient(step=STEP, adjoint=ADJOINT, seed="1.0", right="std::pow(0.9, 10)", last=""):
    return (f"double r = cairn::gradient({step}, 1.5, {PLAN}, {seed}, {adjoint}{last});\nreturn {near('r', right)};")


def verbs(adjoint):
    """The adjoint in all verbs."""
    return (f"auto const adjoint = {adjoint}; auto const step = {STEP};\n"
            f"double r = cairn::gradient(step, 1.5, {PLAN}, 1.0, adjoint);\n"
            f"double kept = cairn::checkpointed_loop(step, 1.5, {PLAN}).reverse(1.0, adjoint);\n"
            f"auto d = cairn::differentiate(cairn::model{{step, adjoint}}, 1.5, {PLAN}, cairn::at_end({F}, {DF}));\n"
            f"cairn::value_and_gradient f{{cairn::model{{step, adjoint}}, {PLAN}, cairn::at_end({F}, {DF})}};\n"
            f"double again = f(1.5).state, right = std::pow(0.9, 10);\n"
            f"return {near('r', 'right')} && {near('kept', 'right')} && {near('d.state', 'right')} && "
            f"{near('again', 'right')};")


def with_p(verb):
    return lambda fn: "double const p = 0.9; double dp = 0;\n" + verb(fn)


def jumps(jump="[](double& x) { x *= 2; }", back="[](double, double& bar) { bar *= 2; }", when="jump_at(3, "):
    return (f"auto loop = cairn::with_jumps({STEP}, {ADJOINT}, cairn::{when}{jump}, {back}));\n"
            f"double r = cairn::gradient(loop.step, 1.5, {PLAN}, 1.0, loop.adjoint);\n"
            f"auto run = cairn::checkpointed_loop(loop.step, 1.5, {PLAN});\n"
            f"return {near('r', '2 * std::pow(0.9, 10)')} && {near('run.final_state()', '3 * std::pow(0.9, 10)')};")


def loop_while(step, go, last=""):
    return (f"auto run = cairn::checkpointed_while({step}, 1.5, {go}, cairn::online{{3}}{last});\n"
            "return run.steps() == 4;")


def adaptive(first="[](double& x, step_index) { x *= 0.9; return 0.1; }",
             again="[](double& x, step_index, double h) { x *= 1 - h; }"):
    return (f"cairn::adaptive chosen{{{first}, {again}}};\n"
            f"auto run = cairn::checkpointed_loop(chosen.step(), 1.5, {PLAN});\n"
            f"double r = run.reverse(1.0, {ADJOINT});\n"
            f"return {near('run.final_state()', '1.5 * std::pow(0.9, 10)')} && {near('r', 'std::pow(0.9, 10)')};")


def restart(fn):
    return (f"cairn::recorded all{{[](double& x) {{ double y = x; x *= 0.9; return y; }}, "
            f"[](double, double& bar) {{ bar *= 0.9; }}, {fn}}};\n"
            f"double r = cairn::gradient({STEP}, 1.5, cairn::mixed{{10, 3, {{.tapes_restart = true}}}}, 1.0, all);\n"
            f"return {near('r', 'std::pow(0.9, 10)')};")


def members(step="void step(double& x) const { x *= 0.9; }",
            adjoint="void adjoint(double, double& bar) const { bar *= 0.9; }",
            value="double value(double x) const { return x; }",
            grad="void add_gradient(double, double& bar) const { bar += 1; }"):
    return (f"struct rod {{ {step} {adjoint} }}; struct end {{ {value} {grad} }};",
            f"auto r = cairn::differentiate(rod{{}}, 1.5, {PLAN}, cairn::at_end(end{{}}));\n"
            f"return {near('r.value', '1.5 * std::pow(0.9, 10)')} && {near('r.state', 'std::pow(0.9, 10)')};")


def members_p(step="void step(double& x, double p) const { x *= p; }",
              adjoint="void adjoint(double x, double& bar, double p, double& dp) const { dp += bar * x; bar *= p; }",
              value="double value(double x, double) const { return x; }",
              grad="void add_gradient(double, double& bar, double, double&) const { bar += 1; }"):
    outer, _ = members(step, adjoint, value, grad)
    return (outer, f"auto r = cairn::differentiate(rod{{}}, 1.5, 0.9, {PLAN}, cairn::at_end(end{{}}));\n"
            f"return {near('r.state', 'std::pow(0.9, 10)')} && {near('r.params', '15 * std::pow(0.9, 9)')};")


def saved(save="double save() const { return at; }", restore="void restore(double s) { at = s; }"):
    return (f"struct rod {{ double at = 1.5; std::unique_ptr<int> own{{}}; {save} {restore} }};",
            f"rod x; double r = cairn::gradient([](rod& x) {{ x.at *= 0.9; }}, x, {PLAN}, 1.0, "
            "[](rod const&, double& bar) { bar *= 0.9; });\n" + f"return {near('r', 'std::pow(0.9, 10)')};")


def stages(forward="double forward(double x) const { return 0.9 * x; }",
           backward="double backward(double, double bar) const { return 0.9 * bar; }", record="",
           net="std::vector<layer> net(10);", last="", right="std::pow(0.9, 10)"):
    return (f"struct layer {{ {record} {forward} {backward} }};",
            "using namespace cairn::chain_actions; std::vector<cairn::action> all;\n"
            "for (step_index i = 0; i < 10; ++i) all.push_back(record(i));\n"
            "all.push_back(turn(10)); for (step_index i = 10; i-- > 0;) all.push_back(reverse(i));\n"
            f"[[maybe_unused]] double const p = 0.9; [[maybe_unused]] double dp = 0;\n{net}\n"
            f"auto got = cairn::chain_gradient(net, 1.5, all, 1.0{last});\n"
            "double r = of_any(std::move(got));\n" + f"return {near('r', right)};")


def by_tool(model="[](auto& x) { x *= 0.9; }", f="[](auto const& x) { return x; }", p=""):
    return (f"auto r = cairn::differentiate(cairn::by_tool(cairn::codipack_tape<>{{}}, {model}), 1.5, {p}{PLAN}, {f});\n"
            f"return {derivatives(p)};")


RECORD = "struct tape { double x, y; }; tape record(double x) const { return {x, 0.9 * x}; }"
OUTPUT = "double const& output(tape const& t) const { return t.y; }"
OF_TAPE = "double backward(tape const&, double bar) const { return 0.9 * bar; }"
NUMBERED = "cairn::indexed_stages net{10, layer{}};"
ANY = "std::vector<cairn::any_stage> net; for (int k = 0; k < 10; ++k) net.emplace_back(layer{});"
TUPLE = "std::tuple net{" + ", ".join(["layer{}"] * 10) + "};"
WITH_P = ", cairn::wrt{p, dp}"


def taped_stages(record=RECORD, output=OUTPUT, backward=OF_TAPE):
    return stages(backward=backward, record=f"{record} {output}")


def stages_p(**of):
    return stages(**{"forward": "double forward(double x, double p) const { return p * x; }",
                     "backward": "double backward(double x, double bar, double p, double& dp) const "
                                 "{ dp += bar * x; return p * bar; }", "last": WITH_P, **of})


def recalled(record="double", adjoint="[](double, double& bar, step_index, double h) { bar *= 1 - h; }"):
    return (f"cairn::adaptive chosen{{[](double& x) {{ x *= 0.9; return {record}(0.1); }}, "
            f"[](double& x, step_index, {record} h) {{ x *= 1 - h; }}}};\n"
            f"auto run = cairn::checkpointed_loop(chosen.step(), 1.5, {PLAN});\n"
            f"double r = run.reverse(1.0, chosen.with_record({adjoint}));\n"
            f"return {near('r', 'std::pow(0.9, 10)')};")


def adaptive_p(first="[](double& x, double p, step_index) { x *= p; return 0.1; }",
               again="[](double& x, double p, step_index, double) { x *= p; }"):
    return (f"cairn::adaptive chosen{{{first}, {again}}}; double const p = 0.9; double dp = 0;\n"
            f"auto run = cairn::checkpointed_loop(chosen.step(), 1.5, {PLAN}, cairn::wrt{{p, dp}});\n"
            f"double r = run.reverse(1.0, {P_ADJOINT});\n"
            f"return {near('r', 'std::pow(0.9, 10)')} && {near('dp', '15 * std::pow(0.9, 9)')};")


def observer(fn):
    return ("int seen = 0; (void)seen;\n"
            f"double r = cairn::gradient({STEP}, 1.5, {PLAN}, 1.0, {ADJOINT}, {fn});\n"
            f"return {near('r', 'std::pow(0.9, 10)')};")


def terms(of):
    right = " && ".join((near("r.value", "1.5 * std::pow(0.9, 10)"), near("r.state", "std::pow(0.9, 10)")))
    return (f"auto const f = {F}; auto const df = {DF}; std::vector<step_index> const last{{10}};\n"
            f"auto r = cairn::differentiate(cairn::model{{{STEP}, {ADJOINT}}}, 1.5, {PLAN}, {of});\nreturn {right};")


INDEX = {"floating": "double i", "short": "short i", "bool": "bool i", "char": "char i", "preset": "int i = 1",
         "preset bool": "bool i = true"}
GOOD_INDEX = ("int i", "step_index const& i", "auto i")


def index(text, all_of_them=True):
    """Cells of a function that takes an index where the text has %s."""
    good = [text % one for one in (GOOD_INDEX if all_of_them else GOOD_INDEX[:1])]
    return good, {f"{name} index": text % one for name, one in INDEX.items()
                  if all_of_them or not name.startswith("preset")}


def generic(bad):
    """The misuses of a number's type with the state, or its adjoint, deduced."""
    deduced = {name: re.sub(r"double( const&|&)? (x|bar)\b", lambda m: f"auto{m[1] or ' const&'} {m[2]}", text, count=1)
               for name, text in bad.items() if isinstance(text, str) and re.search("index|narrow|int ", name)}
    return {f"generic, {name}": text for name, text in deduced.items() if text != bad[name]}


def same(text, result="double", *args):
    """The same function in other clothes: by std::function, by pointer, by reference, mutable, holding what only moves."""
    signature = f"{result}({', '.join(args)})"
    return [f"std::function<{signature}>({text})", f"+{text}", f"std::function<{signature}>(+{text})"]


KINDS = {}


def kind(name, around, good, bad, of_index=None, more=True):
    fine, refused = index(of_index, more) if of_index else ([], {})
    around, around_bad = around if isinstance(around, tuple) else (around, around)  # a misuse is of one verb
    refused = {**bad, **refused}
    hidden = "numbered stages" in name  # the types of a member that is a template do not show
    KINDS[name] = (around, [*good, *fine], {**refused, **({} if hidden else generic(refused))}, around_bad)


def adjoint(of="%s"):
    return lambda fn: verbs(of % fn), lambda fn: gradient(adjoint=of % fn)


LEAF = "[](double, double& bar, step_index first, %s) { bar *= std::pow(0.9, double(step_index(i) - first)); }"
NEXT = "[](double const&, double const& x1, double& bar, %s) { (void)x1, (void)i; bar *= 0.9; }"

kind("step", lambda fn: differentiate(step=fn),
     [STEP, "[](double const& x) { return x * 0.9; }", "[](double const& x, double& x1) { x1 = x * 0.9; }",
      "[](auto& x, step_index) { x *= 0.9; }", *same(STEP, "void", "double&"),
      "[n = 0](double& x) mutable { ++n; x *= 0.9; }", "[](double& x) noexcept { x *= 0.9; }"],
     {"narrow x": "[](float x) { return double(x) * 0.9; }", "int x": "[](int x) { return x * 0.9; }",
      "x by value": "[](double x) { x *= 0.9; }", "x const": "[](double const& x) { (void)x; }",
      "both": "[](double& x) { x *= 0.9; return x; }", "returns float": "[](double x) { return float(x * 0.9); }",
      "x1 by value": "[](double const& x, double x1) { x1 = x * 0.9; }"},
     "[](double& x, %s) { (void)i; x *= 0.9; }")
kind("step on two", lambda fn: differentiate(step=fn), [], {},
     "[](double const& x, double& x1, %s) { x1 = x * 0.9, (void)i; }")
kind("step, p", lambda fn: differentiate(step=fn, adjoint=P_ADJOINT, p="0.9, "),
     [P_STEP, "[](double x, double const& p) { return x * p; }", "[](auto& x, auto const& p, auto) { x *= p; }",
      *same(P_STEP, "void", "double&", "double")],
     {"narrow p": "[](double& x, float p) { x *= double(p); }", "int p": "[](double& x, int p) { x *= p; }",
      "p after i": "[](double& x, step_index, double p) { x *= p; }",
      "generic p by value": "[](double& x, auto p) { x *= p; }", "x by value": "[](double x, double p) { x *= p; }"},
     "[](double& x, double p, %s) { (void)i; x *= p; }")
kind("adjoint", lambda fn: differentiate(adjoint=fn),
     [ADJOINT, "[](double, double bar) { return bar * 0.9; }", "[](auto const&, auto& bar, step_index) { bar *= 0.9; }",
      *same(ADJOINT, "void", "double", "double&")],
     {"narrow x": "[](float, double& bar) { bar *= 0.9; }", "narrow bar": "[](double, float bar) { return double(bar) * 0.9; }",
      "bar by value": "[](double, double bar) { bar *= 0.9; }", "bar const": "[](double, double const& bar) { (void)bar; }",
      "both": "[](double, double& bar) { bar *= 0.9; return bar; }",
      "returns float": "[](double, double bar) { return float(bar * 0.9); }",
      "generic bar by value": "[](auto, auto bar) { bar *= 0.9; }"},
     "[](double, double& bar, %s) { (void)i; bar *= 0.9; }")
kind("adjoint, p", lambda fn: differentiate(step=P_STEP, adjoint=fn, p="0.9, "),
     [P_ADJOINT, "[](auto const& x, auto& bar, auto const& p, auto& dp, auto) { dp += bar * x; bar *= p; }"],
     {"dp by value": "[](double x, double& bar, double p, double dp) { dp += bar * x; bar *= p; }",
      "dp const": "[](double x, double& bar, double p, double const& dp) { bar *= p + 0 * x * dp; }",
      "narrow p": "[](double x, double& bar, float p, double& dp) { dp += bar * x; bar *= double(p); }",
      "narrow x": "[](float x, double& bar, double p, double& dp) { dp += bar * double(x); bar *= p; }",
      "bar by value": "[](double x, double bar, double p, double& dp) { dp += bar * x; bar *= p; }",
      "no dp": "[](double, double& bar, double p) { bar *= p; }",
      "generic dp by value": "[](auto const& x, auto& bar, auto const& p, auto dp) { dp += bar * x; bar *= p; }"},
     "[](double x, double& bar, double p, double& dp, %s) { dp += bar * x; (void)i; bar *= p; }")
kind("leaf", adjoint(), [LEAF % "step_index i"],
     {"floating first": "[](double, double& bar, double first, step_index last) { bar *= std::pow(0.9, double(last) - first); }",
      "bar by value": "[](double, double bar, step_index first, step_index last) { bar *= double(last - first); }",
      "narrow x": "[](float, double& bar, step_index first, step_index last) { bar *= double(last - first); }"},
     LEAF, False)
kind("with_next", adjoint(), [NEXT % "step_index i"],
     {"narrow x1": "[](double const&, float, double& bar, step_index) { bar *= 0.9; }",
      "bar by value": "[](double const&, double const&, double bar, step_index) { bar *= 0.9; }",
      "both": "[](double const&, double const&, double& bar, step_index) { bar *= 0.9; return bar; }"}, NEXT, False)
kind("record", adjoint("cairn::recorded{%s, [](double c, double& bar) { bar *= c; }}"),
     ["[](double& x) { x *= 0.9; return 0.9; }"],
     {"x by value": "[](double x) { x *= 0.9; return 0.9; }", "no tape": "[](double& x) { x *= 0.9; }",
      "narrow x": "[](float x) { return double(x); }"},
     "[](double& x, %s) { (void)i; x *= 0.9; return 0.9; }")
kind("reverse", adjoint("cairn::recorded{[](double& x) { x *= 0.9; return 0.9; }, %s}"),
     ["[](double c, double& bar) { bar *= c; }", "[](double c, double bar) { return bar * c; }"],
     {"narrow tape": "[](float c, double& bar) { bar *= double(c); }", "bar by value": "[](double c, double bar) { bar *= c; }",
      "both": "[](double c, double& bar) { bar *= c; return bar; }"},
     "[](double c, double& bar, %s) { (void)i; bar *= c; }")
kind("restart", restart, ["[](double y) { return y * 0.9; }", "[](auto const& y) { return y * 0.9; }"],
     {"narrow tape": "[](float y) { return double(y) * 0.9; }", "returns float": "[](double y) { return float(y * 0.9); }",
      "returns nothing": "[](double) {}"})
kind("seed", lambda fn: gradient(seed=fn, right="3 * std::pow(0.9, 20)"),
     ["[](double x) { return 2 * x; }", "[](auto const& x) { return 2 * x; }",
      "std::function<double(double)>([](double x) { return 2 * x; })", "+[](double x) { return 2 * x; }"],
     {"narrow x": "[](float x) { return 2.0 * double(x); }", "int x": "[](int x) { return 2.0 * x; }",
      "returns int": "[](double x) { return int(2 * x); }", "returns nothing": "[](double) {}"})
kind("seed, p", with_p(lambda fn: gradient(P_STEP, P_ADJOINT, fn, "0.9 * std::pow(0.9, 10)", ", cairn::wrt{p, dp}")),
     ["[](double x, double p, double& dp) { dp += x; return p; }"],
     {"dp by value": "[](double x, double p, double dp) { dp += x; return p; }",
      "narrow p": "[](double x, float p, double& dp) { dp += x; return double(p); }",
      "narrow x": "[](float x, double p, double& dp) { dp += double(x); return p; }",
      "generic dp by value": "[](auto x, auto const& p, auto dp) { dp += x; return p; }"})
kind("loss", lambda fn: differentiate(f=fn),
     [F, "[](auto const& x, auto) { return x; }", "[](double x, double k = 1) { return x * k; }",
      "std::function<double(double)>([](double x) { return x; })", "+[](double x) { return x; }"],
     {"narrow x": "[](float x) { return double(x); }", "int x": "[](int x) { return 1.0 * x; }",
      "returns bool": "[](double x) { return x > 0; }", "returns nothing": "[](double) {}"},
     "[](double x, %s) { return (void)i, x; }")
kind("loss, p", lambda fn: differentiate(P_STEP, P_ADJOINT, fn, p="0.9, "), [F, "[](double x, double) { return x; }"],
     {"narrow p": "[](double x, float p) { return x + 0 * double(p); }",
      "narrow x": "[](float x, double) { return double(x); }"},
     "[](double x, double const&, %s) { return (void)i, x; }")
kind("derivative", lambda fn: differentiate(df=fn),
     [DF, "[](auto const&, auto& bar, auto) { bar += 1; }", *same(DF, "void", "double", "double&")],
     {"bar by value": "[](double, double bar) { bar += 1; }", "bar const": "[](double, double const& bar) { (void)bar; }",
      "returns new bar": "[](double, double bar) { bar += 1; return bar; }",
      "returns derivative": "[](double, double const&) { return 1.0; }",
      "both": "[](double, double& bar) { bar += 1; return bar; }", "narrow x": "[](float, double& bar) { bar += 1; }",
      "generic by value": "[](auto, auto bar) { bar += 1; }"},
     "[](double, double& bar, %s) { bar += 1, (void)i; }")
kind("derivative, p",
     lambda fn: differentiate(P_STEP, P_ADJOINT, "[](double x, double p) { return x * p; }", fn, "0.9, ", " && ".join(
         (near("r.value", "1.5 * std::pow(0.9, 11)"), near("r.state", "std::pow(0.9, 11)"),
          near("r.params", "16.5 * std::pow(0.9, 10)")))),
     ["[](double x, double& bar, double p, double& dp) { bar += p; dp += x; }",
      "[](auto const& x, auto& bar, auto const& p, auto& dp, auto) { bar += p; dp += x; }"],
     {"dp by value": "[](double x, double& bar, double p, double dp) { bar += p; dp += x; }",
      "bar by value": "[](double x, double bar, double p, double& dp) { bar += p; dp += x; }",
      "narrow p": "[](double x, double& bar, float p, double& dp) { bar += double(p); dp += x; }",
      "narrow x": "[](float x, double& bar, double p, double& dp) { bar += p; dp += double(x); }",
      "generic dp by value": "[](auto const& x, auto& bar, auto const& p, auto dp) { bar += p; dp += x; }"},
     "[](double x, double& bar, double p, double& dp, %s) { bar += p; dp += x, (void)i; }")
kind("hook", lambda fn: gradient(adjoint=f"cairn::hooked({ADJOINT}, {fn})",
                                 right="(1 - std::pow(0.9, 10)) / 0.1 + std::pow(0.9, 10)"),
     ["[](double, double& bar, step_index) { bar += 1; }", "[](auto const&, auto& bar, auto) { bar += 1; }"],
     {"narrow bar": "[](double, float bar, step_index) { (void)bar; }",
      "narrow x": "[](float, double& bar, step_index) { bar += 1; }", "no index": "[](double, double& bar) { bar += 1; }"},
     "[](double, double& bar, %s) { bar += 1, (void)i; }", False)
kind("hook, p", with_p(lambda fn: gradient(P_STEP, f"cairn::hooked({P_ADJOINT}, {fn})", last=", cairn::wrt{p, dp}")),
     ["[](double, double&, double, double& dp, step_index) { dp += 1; }"],
     {"narrow dp": "[](double, double&, double, float dp, step_index) { (void)dp; }",
      "narrow p": "[](double, double&, float, double& dp, step_index) { dp += 1; }"},
     "[](double, double&, double, double& dp, %s) { dp += 1, (void)i; }", False)
kind("condition", lambda fn: jumps(when=f"jump_when({fn}, ").replace("3 * std", "6 * std").replace("'2 * ", "2 * "),
     [], {"narrow x": "[](float x) { return x < 1; }", "int x": "[](int x) { return x < 1; }",
          "returns number": "[](double x) { return x - 1; }"})
kind("condition's index", lambda fn: (
    f"auto loop = cairn::with_jumps({STEP}, {ADJOINT}, cairn::jump_when({fn}, [](double& x) {{ x *= 2; }}, "
    "[](double, double& bar) { bar *= 2; }));\n"
    "double r = cairn::gradient(loop.step, 1.5, cairn::revolve{6, 3}, 1.0, loop.adjoint);\n"
    f"return {near('r', '2 * std::pow(0.9, 6)')};"),
     ["[](double x) { return x < 1; }", "[](auto const& x, auto) { return x < 1; }",
      "std::function<bool(double)>([](double x) { return x < 1; })"], {}, "[](double x, %s) { return (void)i, x < 1; }")
kind("jump", lambda fn: jumps(fn), ["[](double& x) { x *= 2; }", "[](double x) { return x * 2; }"],
     {"x by value": "[](double x) { x *= 2; }", "narrow x": "[](float x) { return double(x) * 2; }",
      "both": "[](double& x) { x *= 2; return x; }"}, "[](double& x, %s) { (void)i; x *= 2; }")
kind("jump's adjoint", lambda fn: jumps(back=fn), ["[](double, double& bar) { bar *= 2; }"],
     {"bar by value": "[](double, double bar) { bar *= 2; }", "narrow x": "[](float, double& bar) { bar *= 2; }",
      "both": "[](double, double& bar) { bar *= 2; return bar; }"}, "[](double, double& bar, %s) { (void)i; bar *= 2; }")
kind("keep_going", lambda fn: loop_while(STEP, fn),
     ["[](double x) { return x > 1; }", "[](auto const& x, auto) { return x > 1; }",
      "std::function<bool(double)>([](double x) { return x > 1; })", "+[](double x) { return x > 1; }"],
     {"narrow x": "[](float x) { return x > 1; }", "int x": "[](int x) { return x > 0; }",
      "returns number": "[](double x) { return x - 1; }"}, "[](double x, %s) { return (void)i, x > 1; }")
kind("keep_going, p", with_p(lambda fn: loop_while(P_STEP, fn, ", cairn::wrt{p, dp}")),
     ["[](double x, double p) { return x > p + 0.1; }", "[](double x) { return x > 1; }"],
     {"narrow p": "[](double x, float p) { return x > double(p) + 0.1; }", "narrow x": "[](float x, double) { return x > 1; }"},
     "[](double x, double const&, %s) { return (void)i, x > 1; }")
kind("first of adaptive", lambda fn: adaptive(fn),
     ["[](double& x, step_index) { x *= 0.9; return 0.1; }", "[](double& x) { x *= 0.9; return 0.1; }",
      "[](double) { return 0.1; }"],  # it only chooses
     {"no record": "[](double& x, step_index) { x *= 0.9; }", "narrow x": "[](float x) { return double(x); }",
      "preset index": "[](double& x, int i = 1) { (void)i; x *= 0.9; return 0.1; }"},
     "[](double& x, %s) { (void)i; x *= 0.9; return 0.1; }", False)
kind("again of adaptive", lambda fn: adaptive(again=fn),
     ["[](double& x, step_index, double h) { x *= 1 - h; }"],
     {"x by value": "[](double x, step_index, double h) { x *= 1 - h; }",
      "x const": "[](double const& x, step_index, double h) { (void)x, (void)h; }",
      "narrow h": "[](double& x, step_index, float h) { x *= 1 - double(h); }",
      "int h": "[](double& x, step_index, int h) { x *= 1 - h; }"}, "[](double& x, %s, double h) { (void)i; x *= 1 - h; }", False)
kind("members", lambda of: members(**of),
     [{}, {"step": "static void step(double& x) { x *= 0.9; }", "adjoint": "static void adjoint(double, double& bar) { bar *= 0.9; }",
           "value": "static double value(double x) { return x; }", "grad": "static void add_gradient(double, double& bar) { bar += 1; }"},
      {"step": "void step(double& x) & { x *= 0.9; }"}, {"step": "void step(double& x) noexcept { x *= 0.9; }"},
      {"step": "void step(double& x) const& { x *= 0.9; }", "adjoint": "void adjoint(double, double& bar) const& noexcept { bar *= 0.9; }"},
      {"step": "void step(auto& x) const { x *= 0.9; }", "adjoint": "void adjoint(auto const&, auto& bar) const { bar *= 0.9; }",
       "value": "auto value(auto const& x) const { return x; }", "grad": "void add_gradient(auto const&, auto& bar) const { bar += 1; }"},
      {"value": "double value(auto const& x, auto const&...) const { return x; }",
       "grad": "void add_gradient(auto const&, auto& bar, auto&&...) const { bar += 1; }"},
      {"step": "double step(double x) const { return 0.9 * x; }", "adjoint": "double adjoint(double, double bar) const { return 0.9 * bar; }"},
      {"step": "void step(double& x) const { x *= 0.9; } void step(int&) const {}"},
      {"step": "std::function<void(double&)> step = [](double& x) { x *= 0.9; };"}],
     {"preset step": {"step": "void step(double& x, int n = 1) const { for (int k = 0; k < n; ++k) x *= 0.9; }"},
      "preset adjoint": {"adjoint": "void adjoint(double, double& bar, long n = 1) const { for (int k = 0; k < n; ++k) bar *= 0.9; }"},
      "preset generic step": {"step": "void step(auto& x, int n = 1) const { for (int k = 0; k < n; ++k) x *= 0.9; }"},
      "preset generic grad": {"grad": "void add_gradient(auto const&, auto& bar, int n = 1) const { bar += n; }"},
      "preset static": {"step": "static void step(double& x, int n = 1) { for (int k = 0; k < n; ++k) x *= 0.9; }"},
      "preset value": {"value": "double value(double x, int n = 1) const { return std::pow(x, n); }"},
      "preset grad": {"grad": "void add_gradient(double, double& bar, int n = 1) const { bar += n; }"},
      "value narrow": {"value": "double value(float x) const { return double(x); }"},
      "grad by value": {"grad": "void add_gradient(double, double bar) const { bar += 1; }"},
      "grad returns": {"grad": "double add_gradient(double, double bar) const { return bar + 1; }"},
      "step narrow": {"step": "double step(float x) const { return 0.9 * double(x); }"},
      "step short i": {"step": "void step(double& x, short) const { x *= 0.9; }"},
      "bar by value": {"adjoint": "void adjoint(double, double bar) const { bar *= 0.9; }"}})
kind("members, p", lambda of: members_p(**of), [{}],
     {"preset step": {"step": "void step(double& x, double p, int n = 1) const { for (int k = 0; k < n; ++k) x *= p; }"},
      "dp by value": {"adjoint": "void adjoint(double x, double& bar, double p, double dp) const { dp += bar * x; bar *= p; }"},
      "grad's dp by value": {"grad": "void add_gradient(double x, double& bar, double, double dp) const { bar += 1; dp += x; }"},
      "value narrow p": {"value": "double value(double x, float) const { return x; }"}})
kind("save, restore", lambda of: saved(**of), [{}, {"save": "void save(double& s) const { s = at; } double save() const { return at; }"}],
     {"restore narrow": {"restore": "void restore(float s) { at = double(s); }"},
      "restore int": {"restore": "void restore(int s) { at = s; }"},
      "save by value": {"save": "double save() const { return at; } void save(double s) const { s = at; }"}})
kind("stages", lambda of: stages(**of),
     [{}, {"forward": "static double forward(double x) { return 0.9 * x; }"}, {"net": TUPLE}, {"net": ANY},
      {"backward": "void backward(double, double& bar) const { bar *= 0.9; }"},
      {"backward": "void backward(double, double y, double& bar) const { bar *= y > 0 ? 0.9 : 0; }"},
      {"net": "cairn::stage one{[](double x) { return 0.9 * x; }, [](double, double bar) { return 0.9 * bar; }}; "
              "std::vector net(10, one);"},
      {"net": "cairn::stage one{[](auto const& x) { return 0.9 * x; }, [](auto const&, auto bar) { return 0.9 * bar; }}; "
              "std::vector net(10, one);"},
      {"backward": "std::unique_ptr<int> own{}; double backward(double, double bar) const { return 0.9 * bar; }",
       "net": "std::vector<layer> net; for (int k = 0; k < 10; ++k) net.emplace_back();"}],
     {"forward narrow": {"forward": "double forward(float x) const { return 0.9 * double(x); }"},
      "backward narrow x": {"backward": "double backward(float, double bar) const { return 0.9 * bar; }"},
      "backward narrow bar": {"backward": "double backward(double, float bar) const { return 0.9 * double(bar); }"},
      "returns float": {"backward": "float backward(double, double bar) const { return float(0.9 * bar); }"},
      "forward returns float": {"forward": "float forward(double x) const { return float(0.9 * x); }"},
      "bar by value": {"backward": "void backward(double, double bar) const { bar *= 0.9; }"},
      "bar const": {"backward": "void backward(double, double const& bar) const { (void)bar; }"},
      "both": {"backward": "double backward(double, double& bar) const { return bar *= 0.9; }"},
      "narrow y": {"backward": "double backward(double, float, double bar) const { return 0.9 * bar; }"},
      "tuple narrow": {"net": TUPLE, "forward": "double forward(float x) const { return 0.9 * double(x); }"}})
kind("stages that record", lambda of: taped_stages(**of),
     [{}, {"backward": "void backward(double, tape&, double& bar) const { bar *= 0.9; }"}],
     {"narrow x": {"record": RECORD.replace("record(double x)", "record(float x)")},
      "no output": {"output": ""}, "output by value": {"output": "double output(tape const& t) const { return t.y; }"},
      "narrow bar": {"backward": "double backward(tape const&, float bar) const { return 0.9 * double(bar); }"},
      "backward narrow x": {"backward": "double backward(float, tape const&, double bar) const { return 0.9 * bar; }"},
      "bar by value": {"backward": "void backward(tape const&, double bar) const { bar *= 0.9; }"}})
kind("forward of numbered stages",
     lambda fn: stages(fn, "double backward(double, double bar, step_index) const { return 0.9 * bar; }", net=NUMBERED),
     [], {}, "double forward(double x, %s) const { return (void)i, 0.9 * x; }")
kind("backward of numbered stages",
     lambda fn: stages("double forward(double x, step_index) const { return 0.9 * x; }", fn, net=NUMBERED),
     [], {"no index": "double backward(double, double bar) const { return 0.9 * bar; }"},
     "double backward(double, double bar, %s) const { return (void)i, 0.9 * bar; }")
kind("stages, p", lambda of: stages_p(**of),
     [{}, {"net": TUPLE}, {"net": ANY},
      {"forward": "double forward(double x, double p, step_index) const { return p * x; }", "net": NUMBERED,
       "backward": "void backward(double x, double& bar, double p, double& dp, step_index) const { dp += bar * x; bar *= p; }"},
      {"forward": "auto forward(auto const& x, auto const& p) const { return p * x; }",
       "backward": "auto backward(auto const& x, auto bar, auto const& p, auto& dp) const { dp += bar * x; return p * bar; }"}],
     {"narrow p": {"forward": "double forward(double x, float p) const { return double(p) * x; }"},
      "int p": {"forward": "double forward(double x, int p) const { return p * x; }"},
      "narrow x": {"forward": "double forward(float x, double p) const { return p * double(x); }"},
      "dp by value": {"backward": "double backward(double x, double bar, double p, double dp) const { dp += bar * x; return p * bar; }"},
      "dp const": {"backward": "double backward(double, double bar, double p, double const&) const { return p * bar; }"},
      "narrow p in backward": {"backward": "double backward(double x, double bar, float p, double& dp) const { dp += bar * x; return double(p) * bar; }"},
      "bar by value": {"backward": "void backward(double x, double bar, double p, double& dp) const { dp += bar * x; bar *= p; }"},
      "no dp": {"backward": "double backward(double, double bar) const { return 0.9 * bar; }"},
      "preset index": {"forward": "double forward(double x, double p, int = 1) const { return p * x; }", "net": NUMBERED,
                       "backward": "double backward(double x, double bar, double p, double& dp, step_index) const { dp += bar * x; return p * bar; }"}})
kind("adjoint with a record", lambda fn: recalled(adjoint=fn),
     ["[](double, double& bar, step_index, double h) { bar *= 1 - h; }", "[](double, double& bar, double h) { bar *= 1 - h; }",
      "[](auto const&, auto& bar, auto, auto const& h) { bar *= 1 - h; }",
      "[own = std::make_unique<int>(0)](double, double& bar, step_index, double h) { bar *= 1 - h; }"],
     {"narrow h": "[](double, double& bar, step_index, float h) { bar *= 1 - double(h); }",
      "int h": "[](double, double& bar, step_index, int h) { bar *= 1 - h; }",
      "bar by value": "[](double, double bar, step_index, double h) { bar *= 1 - h; }",
      "narrow x": "[](float, double& bar, step_index, double h) { bar *= 1 - h; }",
      "both": "[](double, double& bar, step_index, double h) { return bar *= 1 - h; }"},
     "[](double, double& bar, %s, double h) { bar *= 1 - h, (void)i; }", False)
kind("first of adaptive, p", lambda fn: adaptive_p(fn), ["[](double& x, double p) { x *= p; return 0.1; }"],
     {"narrow p": "[](double& x, float p) { x *= double(p); return 0.1; }",
      "int p": "[](double& x, int p, step_index) { x *= p; return 0.1; }"},
     "[](double& x, double p, %s) { x *= p, (void)i; return 0.1; }", False)
kind("again of adaptive, p", lambda fn: adaptive_p(again=fn),
     ["[](double& x, double p, double) { x *= p; }"],
     {"narrow p": "[](double& x, float p, step_index, double) { x *= double(p); }",
      "x by value": "[](double x, double p, step_index, double) { x *= p; }",
      "narrow h": "[](double& x, double p, step_index, float) { x *= p; }"},
     "[](double& x, double p, %s, double) { x *= p, (void)i; }", False)
kind("observer", observer,
     ["[&](cairn::event const&) { ++seen; }", "[&](cairn::event) { ++seen; }", "[&](auto const&) { ++seen; }",
      "[n = 0](cairn::event const&) mutable { ++n; }", "std::function<void(cairn::event const&)>([&](auto const&) { ++seen; })",
      "[&](cairn::event const&) { return ++seen; }", "[own = std::make_unique<int>(0)](cairn::event const&) { ++*own; }",
      "+[](cairn::event const&) {}"],
     {"event not const": "[](cairn::event&) {}", "other": "[](int) {}", "nothing": "[]() {}", "action": "[](cairn::action const&) {}",
      "twice": "[](cairn::event const&) {}, [](cairn::event const&) {}"})
kind("terms, in order", terms,
     ["cairn::at_states({10}, f, df)", "cairn::at_states(last, f, df)", "cairn::at_every(10, f, df)", "cairn::at_end(f, df)"],
     {"at_every, k last": "cairn::at_every(f, df, 10)", "at_every without df": "cairn::at_every(f, 10)",
      "at_states, states last": "cairn::at_states(f, df, {10})", "at_states, list last": "cairn::at_states(f, df, last)",
      "at_states without df": "cairn::at_states(f, last)", "no df": "cairn::at_end(f)", "no df of some": "cairn::at_states({10}, f)"})
kind("model of a tool", by_tool,
     ["[](auto& x) { x *= 0.9; }", "[](auto&& x) { x *= 0.9; }", "[](auto& x, auto const&) { x *= 0.9; }",
      "[]<class T>(T& x, T const& i) { x *= 0.9 + 0 * i; }", "[n = 0](auto& x) { (void)n; x *= 0.9; }",
      "[own = std::make_shared<int>(0)](auto& x, auto... more) { (void)sizeof...(more); x *= 0.9; }"],
     {"x by value": "[](auto x) { x *= 0.9; }", "x const": "[](auto const& x) { (void)x; }",
      "returns x": "[](auto const& x) { return x * 0.9; }", "both": "[](auto& x) { x *= 0.9; return x; }",
      "of double": "[](double& x) { x *= 0.9; }", "narrow": "[](float& x) { x *= 0.9f; }"},
     "[](auto& x, %s) { (void)i; x *= 0.9; }")
kind("model of a tool, p", lambda fn: by_tool(fn, p="0.9, "),
     ["[](auto& x, auto const& p) { x *= p; }", "[](auto& x, auto p, step_index) { x *= p; }"],
     {"x by value": "[](auto x, auto const& p) { x *= p; }", "narrow p": "[](auto& x, float p) { x *= double(p); }",
      "p of double": "[](auto& x, double p) { x *= p; }", "no p": "[](auto& x) { x *= 0.9; }",
      "p after i": "[](auto& x, step_index, auto const& p) { x *= p; }"},
     "[](auto& x, auto const& p, %s) { (void)i; x *= p; }")
kind("objective of a tool", lambda fn: by_tool(f=fn),
     ["[](auto const& x) { return x; }", "[]<class T>(T x) -> T { return x; }", "[](auto const& x, auto) { return x; }"],
     {"of double": "[](double x) { return x; }", "returns nothing": "[](auto const&) {}",
      "returns bool": "[](auto const& x) { return x > 0; }", "narrow": "[](float x) { return x; }"},
     "[](auto const& x, %s) { return (void)i, x; }")
MOVES = "[own = std::make_unique<int>(0)]"
for of in ("step", "step, p", "adjoint", "adjoint, p", "loss", "derivative", "hook", "keep_going", "seed",
           "first of adaptive", "again of adaptive", "restart"):
    around, good, *_ = KINDS[of]
    good.append(next(fn for fn in good if fn.startswith("[]")).replace("[]", MOVES, 1))


def text_of(around, fn):
    said = around(fn)
    outer, inner = said if isinstance(said, tuple) else ("", said)
    return f"{outer}\ninline bool cell() {{\n{inner}\n}}\n"


def parts(cells, size):
    """Cells in parts, of which each takes a compiler at most 2 GB."""
    return [cells[at:at + size] for at in range(0, len(cells), size)]


def run_valid(compiler, cells, flags, folder):
    """Names of the valid cells that do not give the numbers of the loop."""
    lines = ["", "int main() {"]
    for name, file in cells:
        lines[0] += f'namespace {file.stem} {{\n#include "{file}"\n}}\n'
        lines.append(f'if (!{file.stem}::cell()) std::puts("{name}");')
    source, program = pathlib.Path(folder, "valid.cpp"), pathlib.Path(folder, "valid")
    source.write_text(HEAD + TOOL + "\n".join(lines) + "}\n")
    done = subprocess.run([compiler, "-std=c++20", "-w", "-O0", source, *flags, "-o", program], capture_output=True,
                          text=True)
    if done.returncode == 0:
        return subprocess.run([program], capture_output=True, text=True).stdout.splitlines()
    if len(cells) == 1:
        return [f"{cells[0][0]} does not compile\n{done.stderr}"]
    return [wrong for cell in cells for wrong in run_valid(compiler, [cell], flags, folder)]


def main():
    end = sys.argv.index("--")
    how, compiler, *kinds = sys.argv[1:end]
    flags = [*sys.argv[end + 1:], f"-I{TESTS}", f"-I{TESTS / 'adapt/ad/stand_in'}"]
    only_valid = kinds[:1] == ["--valid"] and bool(kinds.pop(0))
    wrong, valid, refused, names = [], [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        def cell(name, text):
            file = pathlib.Path(folder, f"c{len(names)}.cpp")
            names[file] = name
            file.write_text(text)
            return file
        for name in kinds or KINDS:
            around, good, bad, around_bad = KINDS[name]
            valid += [(f"{name}, valid {k}", cell(f"{name} {k}", text_of(around, fn))) for k, fn in enumerate(good)]
            head = HEAD + TOOL if "tool" in name else HEAD
            refused += [cell(f"{name}: {what}", f"{head}{text_of(around_bad, fn)}// CAIRN_FIXED\n")
                        for what, fn in bad.items() if not only_valid]
        for part in parts(valid, 95) if how != "nvcc" else []:
            wrong += run_valid(compiler, part, flags, folder)
        for part in parts(refused, 100):
            said = misuses.verdicts(how, compiler, part, flags + ["-w"], True)
            wrong += [f"{names[file]}: {why}" for file, why in said.items() if why]
        print(f"{len(valid)} valid functions and {len(refused)} misuses of {len(kinds or KINDS)} kinds")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
