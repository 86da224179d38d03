/* Saving what the page shows: tables as CSV, the tree as SVG and PNG. */
(function (LT) {
  "use strict";
  const STYLES = (
    "fill fill-opacity stroke stroke-opacity stroke-width stroke-dasharray stroke-linecap " +
    "font-family font-size font-weight text-anchor opacity"
  ).split(" ");
  const DROPPED = "class tabindex role data-v aria-label aria-level aria-expanded aria-selected".split(" ");

  LT.fileName = (text) =>
    text
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "table";

  LT.csv = (rows) =>
    rows
      .map((row) =>
        row
          .map((value) => {
            const text = value === null || value === undefined ? "" : String(value);
            return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
          })
          .join(","),
      )
      .join("\r\n") + "\r\n";

  LT.save = function (name, content, type) {
    const url = URL.createObjectURL(
      content instanceof Blob ? content : new Blob([content], { type: `${type};charset=utf-8` }),
    );
    const link = LT.h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    LT.say(`Saved ${name}`);
  };

  /* The drawing as it is seen, all of it, with its colours as attributes: no style sheet goes with it. */
  LT.standalone = function (svg, box) {
    const copy = svg.cloneNode(true);
    const from = svg.querySelectorAll("*"),
      to = copy.querySelectorAll("*");
    const gone = [];
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      if (style.display === "none" || node.classList.contains("hit")) return gone.push(to[i]);
      for (const name of STYLES) to[i].setAttribute(name, style.getPropertyValue(name));
      for (const name of DROPPED) to[i].removeAttribute(name);
    });
    gone.forEach((node) => node.remove());
    copy.removeAttribute("class");
    copy.removeAttribute("style");
    const { x, y, width, height } = box;
    LT.set(copy, { viewBox: `${x} ${y} ${width} ${height}`, width, height });
    copy.prepend(LT.s("rect", { x, y, width, height, fill: getComputedStyle(document.body).backgroundColor }));
    return new XMLSerializer().serializeToString(copy);
  };

  LT.png = async function (text, box, scale) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const most = 12000 / Math.max(box.width, box.height); /* larger canvases come out empty */
    const factor = Math.min(scale, most);
    const canvas = LT.h("canvas", { width: Math.ceil(box.width * factor), height: Math.ceil(box.height * factor) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  };
})((globalThis.LT ??= {}));
