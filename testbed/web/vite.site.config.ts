import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The entry file of each script of the manual's site. */
const ENTRIES: Record<string, string> = { try: "src/site/try.ts", playground: "src/playground/main.tsx" };

/**
 * A script of the manual's site, whose name is the mode. One file without modules, because a page
 * that is opened from a file loads none.
 */
export default defineConfig(({ mode }) => ({
  plugins: [react()],
  // Libraries otherwise keep code for development.
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: {
    outDir: "../../build/site-scripts",
    emptyOutDir: false,
    lib: {
      entry: ENTRIES[mode]!,
      formats: ["iife"],
      name: `bentpipe_${mode}`,
      fileName: () => `${mode}.js`,
      cssFileName: mode,
    },
  },
}));
