// The browser asks before the page is left with something on it that is not saved.
import { useEffect } from "preact/hooks";

/** Asks while `unsaved` is true and the component is shown. */
export function useLeaving(unsaved: boolean): void {
  useEffect(() => {
    const ask = (e: BeforeUnloadEvent) => { if (unsaved) e.preventDefault(); };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [unsaved]);
}
