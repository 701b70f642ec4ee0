"use strict";
/* Behind the script of report.html: takes new values from the server while runs go on, and asks runs to pause and to stop. */
const SECONDS = 2;
const parameters = new URLSearchParams(location.search);
const paths = runs.map((_, index) => parameters.get(index ? `path${index}` : "path"));
function sectionOf(title) {
  return [...document.querySelectorAll("section")].find(one => one.querySelector("h2").textContent === title);
}
const rowOf = index => sectionOf("Runs").querySelectorAll("tbody tr")[index];
function update(answered) {
  const known = new Set(names), fresh = answered.map(prepared);
  const grows = fresh.some(run => [...run.metrics.keys()].some(name => !known.has(name)));
  if (grows || fresh.length !== runs.length) return location.reload();
  fresh.forEach((run, index) => {
    Object.assign(runs[index], run);
    const best = run.best ? `${run.best.metric} ${number(run.best.value)} (step ${run.best.step})` : "-";
    [run.status, number(run.epoch + 1), number(run.step), number(run.seconds), best].forEach((text, i) => {
      rowOf(index).cells[i + 2].textContent = text;
    });
  });
  const last = table(["metric", ...runs.map(run => run.name)],
    names.map(name => [name, ...runs.map(run => lastOf(run, name))]));
  sectionOf("Last values").querySelector(".scroll").replaceWith(last);
  redraw();
  if (CAN_ASK) buttons.forEach(one => one.show());
}
let stamp = null, timer = null;
async function poll() {
  clearTimeout(timer);
  try {
    const answer = await fetch(`/api/run${location.search}`, {headers: stamp ? {"If-None-Match": stamp} : {}, cache: "no-store"});
    if (answer.status === 200) {
      stamp = answer.headers.get("ETag");
      update((await answer.json()).runs);
    }
  } catch (error) {
    document.title = "levin report (the server is away)";
  }
  clearTimeout(timer);
  timer = setTimeout(poll, SECONDS * 1000);
}
/* The buttons of a run. Stop is pressed twice, since it cannot be taken back. */
class Buttons {
  constructor(index) {
    this.index = index;
    this.pause = element("button", {type: "button"});
    this.stop = element("button", {type: "button"});
    this.pause.addEventListener("click", () => this.ask(this.isPaused() ? "continue" : "pause"));
    this.stop.addEventListener("click", () => {
      if (this.isSure) return this.ask("stop");
      this.isSure = true;
      setTimeout(() => { this.isSure = false; this.show(); }, 5000);
      this.show();
    });
    rowOf(index).append(element("td", {}, this.pause, " ", this.stop));
    this.show();
  }
  isPaused() { return /^paused$|pauses soon$/.test(runs[this.index].status); }
  show() {
    const name = runs[this.index].name, runsStill = /^(running|paused)/.test(runs[this.index].status);
    this.pause.textContent = this.isPaused() ? "continue" : "pause";
    this.stop.textContent = this.isSure ? "save and stop: sure?" : "stop";
    for (const button of [this.pause, this.stop]) {
      button.disabled = !runsStill;
      button.setAttribute("aria-label", `${button.textContent} ${name}`);
    }
  }
  async ask(what) {
    this.isSure = false;
    try {
      const answer = await fetch(`/api/ask?path=${encodeURIComponent(paths[this.index])}&ask=${what}`, {method: "POST", headers: {"X-Levin-Ask": "1"}});
      said.textContent = answer.ok ? "" : await answer.text();
    } catch (error) {
      said.textContent = "the server is away";
    }
    poll();
  }
}
const said = element("p", {role: "status"});
main.prepend(element("p", {}, element("a", {href: "/"}, "all runs")), said);
if (CAN_ASK) sectionOf("Runs").querySelector("thead tr").append(element("th", {scope: "col"}, "ask"));
const buttons = CAN_ASK ? runs.map((_, index) => new Buttons(index)) : [];
timer = setTimeout(poll, SECONDS * 1000);
