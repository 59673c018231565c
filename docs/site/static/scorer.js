// Found pages in the order in which users look for them: what teaches and explains first, what is for contributors last;
// before all of them a page with the word in its own title.
const first = /^docs\/(tutorial|guide|cookbook|troubleshooting|adjoints|objects)/, last = /^(CHANGELOG|CONTRIBUTING|RELEASING|docs\/(architecture|decisions|status))/;
const asked = (new URLSearchParams(location.search).get("q") || "?").trim().toLowerCase();
const titled = (title) => !title.includes(" > ") && title.toLowerCase().includes(asked);
var Scorer = {
  score: ([document_, title, anchor, descr, score]) =>
    score + (first.test(document_) ? 8 : 0) + (titled(title) ? 10 : 0) - (last.test(document_) ? 30 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
