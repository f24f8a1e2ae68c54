import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Application } from "./application";
import { cache } from "./data/cache";
import { Dialogs } from "./parts/dialog";
import "./parts/focus";
// The styles of libraries come first, so that style.css can replace them.
import "@xyflow/react/dist/style.css";
import "uplot/dist/uPlot.min.css";
import "./style.css";

// After a new build, an open tab asks for files that no longer exist.
addEventListener("vite:preloadError", () => location.reload());

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={cache}>
        <Application />
        <Dialogs />
      </QueryClientProvider>
    </StrictMode>,
  );
}
