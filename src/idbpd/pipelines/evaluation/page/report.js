"use strict";
// The page is complete without this script. It adds: another horizontal axis, walking along the curves, hiding a curve,
// and opened details on paper.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const section = document.getElementById("training");
  const moments = JSON.parse(document.getElementById("moments").textContent);
  const slider = document.getElementById("walk");
  const moment = section.querySelector(".moment");
  const charts = [...section.querySelectorAll("svg.over")].map((svg) => ({
    svg,
    points: JSON.parse(svg.dataset.points),
    cursor: svg.querySelector(".cursor"),
    spots: {},
    reading: svg.closest("figure").querySelector(".reading"),
  }));
  const hidden = (chart, series) =>
    chart.svg.closest("figure").querySelector(`button.series[data-series="${series}"]`)?.ariaPressed === "false";

  function place(chart, index) {
    const { x, y, v } = chart.points;
    chart.cursor.setAttribute("x1", x[index]);
    chart.cursor.setAttribute("x2", x[index]);
    for (const series of Object.keys(y)) {
      const spot = (chart.spots[series] ??= chart.svg.appendChild(
        document.createElementNS("http://www.w3.org/2000/svg", "circle")));
      spot.setAttribute("class", hidden(chart, series) ? "off" : "spot");
      spot.setAttribute("cx", x[index]);
      spot.setAttribute("cy", y[series][index]);
      spot.setAttribute("r", 3.5);
    }
    chart.reading.textContent = Object.keys(v)
      .filter((series) => !hidden(chart, series))
      .map((series) => v[series][index]).join(" · ") || "nothing is shown";
  }

  function walk(index) {
    section.classList.add("walked");
    slider.value = index;
    moment.textContent = `step ${moments.step[index]}, ${moments.seconds[index]} s`;
    slider.setAttribute("aria-valuetext", moment.textContent);
    for (const chart of charts) place(chart, index);
  }

  slider.addEventListener("input", () => walk(Number(slider.value)));
  for (const chart of charts) {
    chart.svg.addEventListener("pointermove", (event) => {
      const frame = chart.svg.getBoundingClientRect();
      const at = ((event.clientX - frame.left) / frame.width) * chart.svg.viewBox.baseVal.width;
      let nearest = 0;
      chart.points.x.forEach((x, index) => {
        if (Math.abs(x - at) < Math.abs(chart.points.x[nearest] - at)) nearest = index;
      });
      walk(nearest);
    });
  }
  for (const button of section.querySelectorAll("button.axis")) {
    button.addEventListener("click", () => {
      section.classList.toggle("seconds", button.dataset.axis === "seconds");
      for (const other of section.querySelectorAll("button.axis")) other.ariaPressed = String(other === button);
    });
  }
  for (const button of section.querySelectorAll("button.series")) {
    button.addEventListener("click", () => {
      const shown = button.ariaPressed === "false";
      button.ariaPressed = String(shown);
      for (const curve of button.closest("figure").querySelectorAll(`path[data-series="${button.dataset.series}"]`)) {
        curve.classList.toggle("off", !shown);
      }
      walk(Number(slider.value));
    });
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
})();
