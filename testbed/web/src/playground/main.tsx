// Styles of libraries come first, then common ones, so that components can replace them.
import "@xyflow/react/dist/style.css";
import "uplot/dist/uPlot.min.css";
import "../style.css";

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { client } from "../site/engine";
import { firstDraft } from "./draft";
import { Playground } from "./playground";
import "./playground.css";

async function start(): Promise<void> {
  const root = document.getElementById("root")!;
  const data = window.bentpipePlayground;
  if (!data) {
    root.textContent = "The file playground-data.js is missing beside this page.";
    return;
  }
  try {
    const [first, check, run] = await Promise.all([firstDraft(data), client(), client()]);
    createRoot(root).render(
      <StrictMode>
        <Playground data={data} first={first} clients={{ check, run }} />
      </StrictMode>,
    );
  } catch (error) {
    root.textContent = `The engine did not start: ${error instanceof Error ? error.message : String(error)}`;
  }
}

void start();
