import type { State } from "./model";
import { type Theme, useStudio } from "./studio";
import type { Start } from "./types";

interface BarProps {
  start: Start;
  state: State;
  name: string;
  onName: (name: string) => void;
  onTheme: (theme: Theme) => void;
  actions: {
    run: () => void;
    save: () => void;
    open: () => void;
    layOut: () => void;
    copy: () => void;
    paste: () => void;
    fit: () => void;
    exported: (form: string) => void;
  };
}

export function Bar({ start, state, name, onName, onTheme, actions }: BarProps) {
  const { dispatch, theme } = useStudio();
  const { pages } = state.document;
  return (
    <header className="bar">
      <h1>poolgrad studio</h1>
      <button className="run" onClick={actions.run} title="Ctrl+Enter">
        Run
      </button>
      <button onClick={() => dispatch({ type: "undo" })} disabled={!state.past.length} title="Ctrl+Z">
        Undo
      </button>
      <button onClick={() => dispatch({ type: "redo" })} disabled={!state.future.length} title="Ctrl+Y">
        Redo
      </button>
      <button onClick={actions.layOut}>Arrange</button>
      <button onClick={actions.open} title="Ctrl+O">
        Open
      </button>
      <input value={name} aria-label="file name" disabled={start.readOnly} onChange={(event) => onName(event.target.value)} />
      <button onClick={actions.save} disabled={start.readOnly} title="Ctrl+S">
        Save
      </button>
      <select aria-label="export" value="" onChange={(event) => event.target.value && actions.exported(event.target.value)}>
        <option value="">Export…</option>
        {start.formats.map((form) => (
          <option key={form}>{form}</option>
        ))}
      </select>
      {pages.length > 1 ? (
        <select aria-label="page" value={state.page} onChange={(event) => dispatch({ type: "page", name: event.target.value })}>
          {pages.map((page) => (
            <option key={page.name}>{page.name}</option>
          ))}
        </select>
      ) : null}
      <select aria-label="colours" value={theme} onChange={(event) => onTheme(event.target.value as Theme)}>
        <option value="system">System colours</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
      <span className="title">{state.document.title}</span>
    </header>
  );
}
