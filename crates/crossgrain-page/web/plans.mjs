// Pictures of plans, which the command line drew when the page was built. Only the chosen one is loaded.

const at = (id) => document.getElementById(id);

// Fills the lists from `plans/list.json`, and shows the first picture.
export async function showPlans() {
  const reply = await fetch("plans/list.json");
  if (!reply.ok) return;
  const { jobs, machines, plans } = await reply.json();
  at("plan-job").append(...jobs.map((job) => new Option(job)));
  at("plan-machine").append(...machines.map(({ name, title }) => new Option(title, name)));
  const show = () => {
    const name = `${at("plan-job").value}-${at("plan-machine").value}`;
    at("plan").src = `plans/${name}.svg`;
    at("plan").alt = `Plan of ${at("plan-job").value}: ${plans[name]}`;
    at("plan-text").textContent = plans[name];
  };
  at("plan-job").addEventListener("change", show);
  at("plan-machine").addEventListener("change", show);
  at("plans").hidden = false;
  show();
}
