// What every part of the editor can reach.

import { createContext, useContext } from "react";

import type { Host } from "./host";
import type { Action } from "./model";
import type { Block, Checked, Done, Field, Json, Kind, Page, Problem } from "./types";

export type Theme = "system" | "light" | "dark";

export interface Studio {
  host: Host;
  kinds: Map<string, Kind>;
  page: Page;
  checked: Checked | null;
  done: Done | null;
  /** Results are of an older page than the one shown. */
  stale: boolean;
  isRunning: boolean;
  /** While a wire is drawn: the pins it cannot go to. */
  misfits: { [port: string]: Problem };
  theme: Theme;
  dispatch: (action: Action) => void;
}

export const StudioContext = createContext<Studio | null>(null);

export function useStudio(): Studio {
  const studio = useContext(StudioContext);
  if (!studio) throw new Error("outside of the studio");
  return studio;
}

/** Faults of a page: those of the last check, and those that only the run showed. */
export function problemsOf(studio: Pick<Studio, "checked" | "done" | "stale">): Problem[] {
  const checked = studio.checked?.problems ?? [];
  return checked.length || studio.stale ? checked : (studio.done?.problems ?? []);
}

interface Fix {
  label: string;
  action: Action;
}

const WITH_SHAPE = new Set(["Const", "Ones", "Zeros", "Random"]);

/** What would put a fault right, where one change does. */
export function fixOf(problem: Problem, page: Page, kinds: Map<string, Kind>): Fix | null {
  const block = page.blocks.find((one) => one.id === problem.block);
  const place = problem.place;
  if (!block || !place) return null;
  const field = fieldOf(kinds.get(block.op), place);
  if (field?.kind === "choice" && problem.code === "PG203") {
    const value = (field.initial ?? field.choices[0]) as string;
    return { label: `use ${value}`, action: { type: "attribute", id: block.id, name: place, value } };
  }
  if (problem.code === "PG103" && field && field.initial !== null) {
    return { label: `use ${String(field.initial)}`, action: { type: "attribute", id: block.id, name: place, value: field.initial } };
  }
  const source = sourceOf(page, `${block.id}.${place}`);
  if (!source || !WITH_SHAPE.has(source.op) || problem.expected === undefined) return null;
  const name = Array.isArray(problem.expected) ? "shape" : "dtype";
  const words = Array.isArray(problem.expected) ? `[${problem.expected.join(",")}]` : problem.expected;
  const action: Action = { type: "attribute", id: source.id, name, value: problem.expected as Json };
  return { label: `make ${source.id} ${words}`, action };
}

function fieldOf(kind: Kind | undefined, name: string): Field | undefined {
  return kind?.fields.find((field) => field.name === name) ?? kind?.pins.find((pin) => pin.name === name)?.typed ?? undefined;
}

function sourceOf(page: Page, target: string): Block | undefined {
  const wire = page.wires?.find(([, end]) => end === target);
  return wire && page.blocks.find((block) => block.id === wire[0].split(".")[0]);
}
