import { createRoot } from "react-dom/client";

import { App } from "./App";
import { httpHost } from "./host";

import "@xyflow/react/dist/style.css";
import "./style.css";

createRoot(document.getElementById("studio")!).render(<App host={httpHost(location.hash.slice(1))} />);
