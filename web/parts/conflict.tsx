// Somebody else changed what is being edited: both are shown, and the person says which of them stays.
import { Diff } from "./diff";
import { Icon } from "./parts";

interface Words { conflict: string; conflictHint: string; editOn: string; takeTheirs: string; keepMine: string }

export function Conflict({ words, theirs, mine, keep, take, back }: { words: Words; theirs: string; mine: string; keep: () => void; take: () => void; back: () => void }) {
  return (
    <section class="conflict" role="alertdialog" aria-label={words.conflict}>
      <p><Icon name="warn" size={16} /><strong>{words.conflict}</strong> {words.conflictHint}</p>
      <Diff before={theirs} after={mine} />
      <div class="deeds"><button type="button" onClick={back}>{words.editOn}</button><button type="button" onClick={take}>{words.takeTheirs}</button><button type="button" class="danger" onClick={keep}>{words.keepMine}</button></div>
    </section>
  );
}
