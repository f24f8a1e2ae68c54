import { defineConfig } from "vite";

/** The script of the manual's site. One file without modules, because a page that is opened from a file loads none. */
export default defineConfig({
  build: {
    outDir: "../../build/site-scripts",
    emptyOutDir: false,
    lib: {
      entry: "src/site/try.ts",
      formats: ["iife"],
      name: "bentpipeTry",
      fileName: () => "try.js",
      cssFileName: "try",
    },
  },
});
