"use strict";
/* Behind the script of report.html: takes new values from the server while the run goes on. */
const SECONDS = 2;
function sectionOf(title) {
  return [...document.querySelectorAll("section")].find(one => one.querySelector("h2").textContent === title);
}
function update(answered) {
  const known = new Set(names), fresh = answered.map(prepared);
  const grows = fresh.some(run => [...run.metrics.keys()].some(name => !known.has(name)));
  if (grows || fresh.length !== runs.length) return location.reload();
  fresh.forEach((run, index) => {
    Object.assign(runs[index], run);
    const cells = sectionOf("Runs").querySelectorAll("tbody tr")[index].cells;
    const best = run.best ? `${run.best.metric} ${number(run.best.value)} (step ${run.best.step})` : "-";
    [run.status, number(run.epoch + 1), number(run.step), number(run.seconds), best].forEach((text, i) => {
      cells[i + 2].textContent = text;
    });
  });
  const last = table(["metric", ...runs.map(run => run.name)],
    names.map(name => [name, ...runs.map(run => lastOf(run, name))]));
  sectionOf("Last values").querySelector(".scroll").replaceWith(last);
  redraw();
}
let stamp = null;
async function poll() {
  try {
    const answer = await fetch(`/api/run${location.search}`, {headers: stamp ? {"If-None-Match": stamp} : {}, cache: "no-store"});
    if (answer.status === 200) {
      stamp = answer.headers.get("ETag");
      update((await answer.json()).runs);
    }
  } catch (error) {
    document.title = "levin report (the server is away)";
  }
  setTimeout(poll, SECONDS * 1000);
}
const back = element("p", {}, element("a", {href: "/"}, "all runs"));
main.prepend(back);
setTimeout(poll, SECONDS * 1000);
