import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../../python/bentpipe/testbed/static",
    emptyOutDir: true,
    // The content security policy allows no inline scripts.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8470", changeOrigin: false } } },
});
