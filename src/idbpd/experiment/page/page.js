"use strict";
// The page is complete without this script. It adds: another horizontal axis, walking along curves, hiding a curve, and
// opened details on paper.
(() => {
  document.documentElement.classList.add("scripted");

  for (const part of document.querySelectorAll(".walkable")) {
    const moments = JSON.parse(part.querySelector(".moments")?.textContent ?? "null");
    const slider = part.querySelector(".walk");
    const moment = part.querySelector(".moment");
    const charts = [...part.querySelectorAll("svg[data-points]")].map((svg) => ({
      svg,
      points: JSON.parse(svg.dataset.points),
      cursor: svg.querySelector(".cursor"),
      spots: {},
      reading: svg.closest("figure").querySelector(".reading"),
    }));
    const axis = () => (part.classList.contains("seconds") ? "seconds" : "step");
    const hidden = (chart, series) =>
      chart.svg.closest("figure").querySelector(`button.series[data-series="${series}"]`)?.ariaPressed === "false";

    function place(chart, index) {
      const { x, y, v } = chart.points;
      chart.cursor.setAttribute("x1", x[index]);
      chart.cursor.setAttribute("x2", x[index]);
      for (const series of Object.keys(y)) {
        const spot = (chart.spots[series] ??= chart.svg.appendChild(
          document.createElementNS("http://www.w3.org/2000/svg", "circle")));
        const none = y[series][index] === null || hidden(chart, series);
        spot.setAttribute("class", none ? "off" : "spot");
        if (none) continue;
        spot.setAttribute("cx", x[index]);
        spot.setAttribute("cy", y[series][index]);
        spot.setAttribute("r", 3.5);
      }
      if (!chart.svg.classList.contains(axis())) return;
      chart.reading.textContent = Object.keys(v)
        .filter((series) => !hidden(chart, series))
        .map((series) => v[series][index]).join(" · ") || "nothing is shown";
    }

    function walk(index) {
      part.classList.add("walked");
      slider.value = index;
      moment.textContent = moments[axis()][index];
      slider.setAttribute("aria-valuetext", moment.textContent);
      for (const chart of charts) place(chart, index);
    }

    slider?.addEventListener("input", () => walk(Number(slider.value)));
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
    for (const button of part.querySelectorAll("button.axis")) {
      button.addEventListener("click", () => {
        part.classList.toggle("seconds", button.dataset.axis === "seconds");
        for (const other of part.querySelectorAll("button.axis")) other.ariaPressed = String(other === button);
        if (part.classList.contains("walked")) walk(Number(slider.value));
      });
    }
    for (const button of part.querySelectorAll("button.series")) {
      button.addEventListener("click", () => {
        const shown = button.ariaPressed === "false";
        button.ariaPressed = String(shown);
        const curves = button.closest("figure").querySelectorAll(`[data-series="${button.dataset.series}"]:not(button)`);
        for (const curve of curves) curve.classList.toggle("off", !shown);
        if (slider) walk(Number(slider.value));
      });
    }
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
