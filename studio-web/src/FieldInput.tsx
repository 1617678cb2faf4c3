import { useEffect, useState } from "react";

import { useStudio } from "./studio";
import type { Block, Field } from "./types";
import { asText, fromText } from "./words";

/** One attribute: a choice, a tick, or text that the server reads; written when it is left or Enter is pressed. */
export function FieldInput({ block, field, isBad }: { block: Block; field: Field; isBad: boolean }) {
  const { dispatch } = useStudio();
  const given = block.attrs?.[field.name];
  const shown = asText(given ?? field.default);
  const [text, setText] = useState(shown);
  useEffect(() => setText(shown), [shown]);
  const set = (value: ReturnType<typeof fromText> | boolean) =>
    dispatch({ type: "attribute", id: block.id, name: field.name, value });
  const common = { "aria-label": `${field.name} of ${block.id}`, title: field.text, className: isBad ? "bad" : "" };
  if (field.kind === "choice") {
    const choices = field.choices.includes(shown) ? field.choices : [shown, ...field.choices];
    return (
      <select {...common} value={shown} onChange={(event) => set(event.target.value)}>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  if (field.kind === "flag") {
    const ticked = shown === "true";
    return <input {...common} type="checkbox" checked={ticked} onChange={() => set(!ticked)} />;
  }
  if (field.kind === "text") {
    return <textarea {...common} rows={6} value={text} onChange={(e) => setText(e.target.value)} onBlur={() => text !== shown && set(text)} />;
  }
  return (
    <input
      {...common}
      value={text}
      placeholder={field.required ? "needed" : ""}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => text !== shown && set(fromText(text))}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}
