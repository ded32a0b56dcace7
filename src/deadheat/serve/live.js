// Fetches a run's document; of a run that is under way again and again, as trials end.

const REFRESH_MS = 10000;
const here = location.pathname.replace(/\/$/, "");
const status = document.getElementById("live");

let shown = false;
let waiting = false;

async function refresh() {
  waiting = false;
  const answer = await fetch(`${here}/document`);
  if (!answer.ok) {
    status.textContent = "The run cannot be read.";
    return;
  }
  window.deadheat.show(await answer.json());
  shown = true;
}

function underWay({ trials, document_cpu_ms: cpuMs }) {
  const cost = cpuMs
    ? ` Making this page takes ${Math.round(cpuMs)} ms of CPU each time, on the machine that serves` +
      " it: if that is the one being measured, close it."
    : "";
  return `Under way: ${trials} trials. Shown again every ${REFRESH_MS / 1000} s.${cost}`;
}

const events = new EventSource(`${here}/events`);
events.onmessage = async ({ data }) => {
  const told = JSON.parse(data);
  if (told.state !== "running") {
    events.close();
    status.textContent = shown ? "The run has ended." : "";
    await refresh();
    return;
  }
  status.textContent = underWay(told);
  if (waiting) return;
  waiting = true;
  setTimeout(refresh, shown ? REFRESH_MS : 0);
};
events.onerror = () => {
  status.textContent = "deadheat serve does not answer; it is asked again and again.";
};
