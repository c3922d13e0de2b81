/* What the pages do beyond HTML: the form of a job shows the chosen kind's fields, the next runs as one types, and what
   the chosen task takes; a traceback can be copied. Without this file everything works, with all fields shown. */
(() => {
  "use strict";

  const PATIENCE = 250; // milliseconds after the last key

  function showChosenKind(form) {
    const chosen = form.querySelector("input[name=kind]:checked");
    for (const fieldset of form.querySelectorAll("fieldset.gocron-kind")) {
      fieldset.classList.toggle("gocron-chosen", fieldset.classList.contains(`gocron-kind-${chosen?.value}`));
    }
  }

  function showSignature(form) {
    const option = form.querySelector("select[name=task]")?.selectedOptions[0];
    const shown = form.querySelector("code.gocron-signature");
    if (option && shown) {
      shown.textContent = option.dataset.signature || shown.dataset.nothing;
    }
  }

  /* The fields of the schedule alone: arguments never leave the form before it is saved. */
  function scheduleOf(form, job) {
    const names = new Set();
    for (const field of form.querySelectorAll("fieldset.gocron-when [name]")) {
      names.add(field.name);
    }
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (names.has(name)) {
        query.append(name, value);
      }
    }
    if (job) {
      query.append("job", job);
    }
    return query;
  }

  function previewAsOneTypes(form, section) {
    const body = section.querySelector(".gocron-preview-body");
    let timer;
    let request = new AbortController();

    async function refresh() {
      request.abort();
      request = new AbortController();
      try {
        const address = `${section.dataset.url}?${scheduleOf(form, section.dataset.job)}`;
        const response = await fetch(address, {signal: request.signal, credentials: "same-origin"});
        if (response.ok && !response.redirected) {
          body.innerHTML = await response.text();
        }
      } catch (error) {
        if (error.name !== "AbortError" && !(error instanceof TypeError)) {
          throw error;
        }
      }
    }

    function soon(event) {
      if (event.target.closest("fieldset.gocron-when")) {
        clearTimeout(timer);
        timer = setTimeout(refresh, PATIENCE);
      }
    }
    form.addEventListener("input", soon);
    form.addEventListener("change", soon);
  }

  function offerCopy(pre) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "gocron-button";
    button.textContent = pre.dataset.copy;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = pre.dataset.copied;
    });
    pre.before(button);
  }

  /* An open filter covers the list: a click elsewhere, or Escape, folds it. */
  function foldFilters(except) {
    for (const chip of document.querySelectorAll("details.gocron-chip[open]")) {
      if (!chip.contains(except)) {
        chip.open = false;
      }
    }
  }

  document.addEventListener("click", (event) => foldFilters(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      foldFilters(null);
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    const form = document.getElementById("job_form");
    const section = form?.querySelector(".gocron-preview");
    if (section) {
      form.classList.add("gocron-scripted");
      form.addEventListener("change", (event) => {
        showChosenKind(form);
        if (event.target.name === "task") {
          showSignature(form);
        }
      });
      showChosenKind(form);
      previewAsOneTypes(form, section);
    }
    if (navigator.clipboard) {
      document.querySelectorAll("pre[data-copy]").forEach(offerCopy);
    }
  });
})();
