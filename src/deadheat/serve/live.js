// Shows a run's document, and refreshes it while the run is under way.

const REFRESH_MS = 10000;
const here = location.pathname.replace(/\/$/, "");
const statusLine = /** @type {HTMLElement} */ (document.getElementById("live"));

let shown = false;
let waiting = false;

async function refresh() {
  waiting = false;
  const answer = await fetch(`${here}/document`);
  if (!answer.ok) {
    statusLine.textContent = "The run cannot be loaded.";
    return;
  }
  window.deadheat.show(await answer.json());
  shown = true;
}

/** @param {{ trials: number, left: string | null, document_cpu_ms: number | null }} event */
function underWay({ trials, left, document_cpu_ms: cpuMs }) {
  const cost = cpuMs
    ? ` Each refresh takes ${Math.round(cpuMs)} ms of CPU on the machine that runs deadheat serve.` +
      " If this machine is measured, close the page."
    : "";
  const time = left ? `, ${left} left` : "";
  return `Under way: ${trials} trials${time}. Refreshed every ${REFRESH_MS / 1000} s.${cost}`;
}

const events = new EventSource(`${here}/events`);
events.onmessage = async ({ data }) => {
  const event = JSON.parse(data);
  if (event.state !== "running") {
    events.close();
    statusLine.textContent = shown ? "The run has ended." : "";
    await refresh();
    return;
  }
  statusLine.textContent = underWay(event);
  if (waiting) return;
  waiting = true;
  setTimeout(refresh, shown ? REFRESH_MS : 0);
};
events.onerror = () => {
  statusLine.textContent = "deadheat serve does not answer. Trying again.";
};
