import { createRoot } from "react-dom/client";

import { App } from "./App";
import { httpHost } from "./host";
import { type Model, widgetHost } from "./widget";

import "@xyflow/react/dist/style.css";
import "./style.css";

// The page of the studio's own server has a place for it; a notebook calls `render`.
const place = document.getElementById("poolgrad-studio");
if (place) createRoot(place).render(<App host={httpHost(location.hash.slice(1))} keysFrom={window} />);

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const box = document.createElement("div");
  box.className = "poolgrad";
  box.style.height = `${String(model.get("height"))}px`;
  // JupyterLab leaves keys alone below an element with this mark.
  box.dataset["lmSuppressShortcuts"] = "true";
  el.append(box);
  const { host, close } = widgetHost(model);
  const root = createRoot(box);
  root.render(<App host={host} keysFrom={box} />);
  return () => {
    root.unmount();
    close();
    box.remove();
  };
}

export default { render };
