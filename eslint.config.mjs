// The page's scripts are plain scripts that share one object, LT: no modules, no build step, one offline file.
import { createRequire } from "node:module";

const js = createRequire(new URL("./build/eslint/", import.meta.url))("@eslint/js");

const browser = [
  "atob", "Blob", "clearInterval", "clearTimeout", "document", "Event", "getComputedStyle", "Image", "localStorage",
  "matchMedia", "navigator", "performance", "requestAnimationFrame", "requestIdleCallback", "ResizeObserver",
  "setInterval", "setTimeout", "URL", "window", "XMLSerializer",
];

export default [
  js.configs.recommended,
  {
    files: ["**/*.js"],
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: "script",
      globals: Object.fromEntries([...browser, "LT"].map((name) => [name, "readonly"])),
    },
    rules: {
      eqeqeq: "error",
      "no-implicit-globals": "error",
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
