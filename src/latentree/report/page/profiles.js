/* The class profiles of a latent class model, which Python drew: as large as there is room for, and what is clicked. */
(function (LT) {
  "use strict";
  const SMALLEST = 0.75 /* below, its texts could not be read: it scrolls instead */,
    LARGEST = 1.5;

  LT.profilesView = function (page, place) {
    const svg = place.querySelector("svg");
    const { width, height } = svg.viewBox.baseVal;
    const fit = () => {
      const style = getComputedStyle(place);
      const wide = place.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const high = place.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
      if (wide <= 0 || high <= 0) return;
      const scale = Math.min(wide / width, Math.max(high / height, SMALLEST), LARGEST);
      svg.setAttribute("width", Math.floor(width * scale));
      svg.setAttribute("height", Math.floor(height * scale));
    };
    new ResizeObserver(fit).observe(place);
    fit();
    svg.addEventListener("click", (event) => {
      const row = event.target.closest("[data-v], [data-class]");
      if (row) page.showNode(row.dataset.v === undefined ? 0 : +row.dataset.v);
    });
    return {
      svg,
      rename: () =>
        svg.querySelectorAll("[data-class] text").forEach((text, i) => {
          const share = LT.percent(page.model.prior[0][i]).replace(/\.\d/, "");
          text.textContent = `${LT.shortened(page.model.labelsOf(0)[i], 26)} (${share})`;
        }),
    };
  };
})((globalThis.LT ??= {}));
