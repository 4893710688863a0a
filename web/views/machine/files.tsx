// The files of a machine: its folders, a file as text, and files that come and go.
import { useEffect, useState } from "preact/hooks";
import { type Folder, getFolder, readFile, writeFile } from "../../core/machines";
import { useNewest } from "../../core/newest";
import { toast, wordsOf } from "../../core/store";
import { t } from "../../core/texts";
import { bytes } from "../../core/time";
import { Failure, Icon, Skeleton, Strange, Time } from "../../parts/parts";

const SHOWN_MAX = 200_000; // bytes of a file that is shown

const inside = (folder: string, name: string): string => (folder === "/" ? `/${name}` : `${folder}/${name}`);
const above = (folder: string): string => folder.replace(/\/[^/]*$/, "") || "/";

/** Its text; null: it is no text, or much of it. */
async function textOf(blob: Blob): Promise<string | null> {
  if (blob.size > SHOWN_MAX) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await blob.arrayBuffer());
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

function save(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function Files({ machine }: { machine: string }) {
  const [path, setPath] = useState("/root");
  const [folder, setFolder] = useState<Folder | null>(null);
  const [failed, setFailed] = useState("");
  const [shown, setShown] = useState<{ name: string; text: string } | null>(null);
  const newest = useNewest([path, machine]);
  const look = () => newest((signal) => getFolder(machine, path, signal), (it) => { setFolder(it); setFailed(""); }, (e) => setFailed(wordsOf(e)));
  useEffect(() => { setFolder(null); setShown(null); void look(); }, [path, machine]);
  const newestFile = useNewest([path, machine]);
  const open = (name: string) => newestFile(async (signal) => {
    const blob = await readFile(machine, inside(path, name), signal);
    return { blob, text: await textOf(blob) };
  }, ({ blob, text }) => {
    if (text === null) save(blob, name);
    else setShown({ name, text });
  }, (e) => toast(wordsOf(e), undefined, "bad"));
  /** A link leads to a folder, or to a file. */
  const follow = (name: string) => newestFile((signal) => getFolder(machine, inside(path, name), signal), () => setPath(inside(path, name)), () => void open(name));
  const put = async (files: FileList | null) => {
    for (const one of files ?? []) {
      try {
        await writeFile(machine, inside(path, one.name), one);
        toast(t.machine.uploaded(one.name));
      } catch (e) {
        toast(wordsOf(e), undefined, "bad");
      }
    }
    void look();
  };
  return (
    <section class="machine-files" aria-label={t.machine.files}>
      <header><h3>{t.machine.files}</h3><span class="where"><Strange text={path} /></span>
        <button type="button" class="ghost" disabled={path === "/"} onClick={() => setPath(above(path))}>{t.machine.up}</button>
        <label class="upload"><input type="file" multiple class="visually-hidden" onChange={(e) => { void put(e.currentTarget.files); e.currentTarget.value = ""; }} /><span class="button">{t.machine.upload}</span></label></header>
      {failed ? <Failure text={failed} retry={() => void look()} /> : !folder ? <Skeleton lines={4} /> : (
        <ul>{folder.entries.map((one) => (
          <li key={one.name}>
            <button type="button" class="ghost" onClick={() => (one.type === "folder" ? setPath(inside(path, one.name)) : void (one.type === "link" ? follow : open)(one.name))}>
              <Icon name={one.type === "folder" ? "chevron" : "note"} size={14} /><Strange text={one.type === "folder" ? `${one.name}/` : one.name} /></button>
            <span class="quiet">{one.type === "file" ? bytes(one.size) : one.type}</span><Time time={one.modified} />
            {one.type === "file" && <button type="button" class="ghost" aria-label={t.machine.download(one.name)} onClick={() => void readFile(machine, inside(path, one.name)).then((blob) => save(blob, one.name), (e) => toast(wordsOf(e), undefined, "bad"))}>{t.machine.save}</button>}
          </li>
        ))}{folder.entries.length === 0 && <li class="quiet">{t.machine.emptyFolder}</li>}</ul>
      )}
      {folder?.more && <p class="quiet">{t.machine.moreFiles(folder.total - folder.entries.length)}</p>}
      {shown && <section class="shown-file"><header><h4><Strange text={shown.name} /></h4><button type="button" class="ghost" onClick={() => setShown(null)}>{t.close}</button></header><Strange text={shown.text} block /></section>}
    </section>
  );
}
