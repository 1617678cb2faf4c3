import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "react";

import { Bar } from "./Bar";
import { Canvas, type CanvasHandle } from "./Canvas";
import type { Host } from "./host";
import { Inspector } from "./Inspector";
import { current, EMPTY, reduce, started, wiresOf } from "./model";
import { Gallery, Messages, Palette } from "./Panels";
import { type Studio, StudioContext, type Theme } from "./studio";
import type { Block, Document, Kind, Problem, Start, Wire } from "./types";
import { useResults } from "./useResults";

/** The page shown when none is asked for. */
const FIRST = "avgpool3d-grad-windows";
/** Where keys are text. */
const TYPED = "textarea, select, input:not([type=range]):not([type=checkbox])";

interface Clip {
  blocks: Block[];
  wires: Wire[];
}

interface AppProps {
  host: Host;
  /** Keys pressed within are the editor's. */
  keysFrom: Window | HTMLElement;
}

/** The editor: palette, canvas, inspector, messages. */
export function App({ host, keysFrom }: AppProps) {
  const [start, setStart] = useState<Start | null>(null);
  const [state, dispatch] = useReducer(reduce, EMPTY, (empty) => started(empty));
  const [name, setName] = useState("page.pool.json");
  const [selected, setSelected] = useState<string[]>([]);
  const [misfits, setMisfits] = useState<{ [port: string]: Problem }>({});
  const [files, setFiles] = useState<string[] | null>(null);
  const [said, setSaid] = useState("");
  const [theme, setTheme] = useState<Theme>("system");
  const clip = useRef<Clip>({ blocks: [], wires: [] });
  const canvas = useRef<CanvasHandle>(null);
  const page = current(state);
  const results = useResults(host, state.document, page.name, state.opened, start !== null);
  const select = useCallback((ids: string[]) => setSelected((before) => (String(before) === String(ids) ? before : ids)), []);
  const say = useCallback((error: unknown) => setSaid(error instanceof Error ? error.message : String(error)), []);

  const load = useCallback(
    (asked: Promise<Document>, file: string) =>
      asked.then((document) => {
        dispatch({ type: "load", document });
        setName(file);
        setFiles(null);
        setSaid("");
      }, say),
    [say],
  );

  useEffect(() => {
    host.start().then((content) => {
      setStart(content);
      const { start: first, document: given } = content;
      const page = content.page;
      if (given) {
        void load(Promise.resolve(given), first ?? "page.pool.json").then(() => page && dispatch({ type: "page", name: page }));
        return;
      }
      void (first ? load(host.open(first), first) : load(host.example(FIRST), `${FIRST}.pool.json`));
    }, say);
  }, [host, load, say]);

  // A page that comes into view is seen whole, once its blocks have their sizes.
  useEffect(() => {
    const timer = setTimeout(() => canvas.current?.fit(), 60);
    return () => clearTimeout(timer);
  }, [state.opened, page.name]);

  const kinds = useMemo(() => new Map(start?.blocks.map((kind) => [kind.op, kind])), [start]);
  const studio = useMemo<Studio>(
    () => ({ host, kinds, page, ...results, misfits, theme, dispatch }),
    [host, kinds, page, results, misfits, theme],
  );

  const save = () => host.save(name, state.document).then(() => setSaid(`saved as ${name}`), say);
  const copy = () => {
    const ids = new Set(selected);
    clip.current = { blocks: page.blocks.filter((block) => ids.has(block.id)), wires: wiresOf(page) };
  };
  const paste = () => clip.current.blocks.length && dispatch({ type: "paste", ...clip.current });
  const layOut = () => host.layout(state.document, page.name).then((places) => (dispatch({ type: "move", places }), setTimeout(() => canvas.current?.fit(), 60)), say);
  const add = (kind: Kind) => dispatch({ type: "add", kind, at: canvas.current?.middle() ?? [0, 0] });
  const open = () => host.files().then(setFiles, say);
  const exported = (form: string) =>
    host.export(state.document, page.name, form).then(({ text, suffix }) => download(name.replace(/\.pool\.json$/, "") + suffix, text), say);

  const python = useCallback(
    () => host.export(state.document, page.name, "python").then(({ text }) => text),
    [host, state.document, page.name],
  );

  const keys: { [key: string]: () => unknown } = {
    "ctrl+z": () => dispatch({ type: "undo" }),
    "ctrl+shift+z": () => dispatch({ type: "redo" }),
    "ctrl+y": () => dispatch({ type: "redo" }),
    "ctrl+c": copy,
    "ctrl+v": paste,
    "ctrl+s": save,
    "ctrl+o": open,
    "ctrl+enter": results.runNow,
    "/": () => (keysFrom instanceof HTMLElement ? keysFrom : document).querySelector<HTMLElement>("#search")?.focus(),
  };
  const press = (event: KeyboardEvent) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches(TYPED);
    const parts = [(event.ctrlKey || event.metaKey) && "ctrl", event.shiftKey && "shift", event.key.toLowerCase()];
    const key = parts.filter(Boolean).join("+");
    const act = keys[key];
    if (!act || (isTyping && !["ctrl+s", "ctrl+o", "ctrl+enter"].includes(key))) return;
    event.preventDefault();
    act();
  };
  // The newest of these is called, wherever the focus is.
  const pressed = useRef(press);
  useEffect(() => {
    pressed.current = press;
  });
  useEffect(() => {
    const listen = (event: Event) => pressed.current(event as KeyboardEvent);
    keysFrom.addEventListener("keydown", listen);
    return () => keysFrom.removeEventListener("keydown", listen);
  }, [keysFrom]);

  if (!start) return <main className="waiting">{said || "…"}</main>;
  return (
    <StudioContext.Provider value={studio}>
      <div className="studio" data-theme={theme}>
        <Bar
          start={start}
          state={state}
          name={name}
          onName={setName}
          onTheme={setTheme}
          actions={{ run: results.runNow, save, open, layOut, copy, paste, exported, fit: () => canvas.current?.fit() }}
        />
        <Palette onAdd={add} />
        <Canvas
          ref={canvas}
          onSelect={select}
          onDraw={(source) => (source ? void host.misfits(state.document, page.name, source).then(setMisfits, () => undefined) : setMisfits({}))}
          onRefuse={(problem) => setSaid(`${problem.code} ${problem.block}.${problem.place}: ${problem.message}`)}
        />
        <Inspector
          python={python}
          block={selected.length === 1 ? page.blocks.find((block) => block.id === selected[0]) : undefined}
        />
        <Messages trouble={results.trouble || said} onShow={(id) => canvas.current?.show(id)} />
        {files ? (
          <Gallery
            start={start}
            files={files}
            onExample={(example) => load(host.example(example), `${example}.pool.json`)}
            onFile={(file) => load(host.open(file), file)}
            onClose={() => setFiles(null)}
          />
        ) : null}
      </div>
    </StudioContext.Provider>
  );
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
