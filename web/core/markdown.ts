// A note as it is read. Its text comes from agents and strangers: markdown-it takes HTML for text, DOMPurify lets only
// elements through that a text needs, and what comes of it is a fragment, never markup. No image is loaded.
import DOMPurify from "dompurify";
import MarkdownIt, { type Token } from "markdown-it";
import { spell } from "./spell";

const FRONTMATTER = /^---\r?\n[\s\S]*?\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;
const TAGS = ["h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s", "a", "span", "table", "thead", "tbody", "tr", "th", "td"];

const md = new MarkdownIt({ html: false, linkify: true });
const escape = (text: string): string => md.utils.escapeHtml(text);

md.inline.ruler.before("link", "wiki", (state, silent) => {
  const embeds = state.src.startsWith("![[", state.pos);
  if (!embeds && !state.src.startsWith("[[", state.pos)) return false;
  const from = state.pos + (embeds ? 3 : 2);
  const end = state.src.indexOf("]]", from);
  const inside = end < 0 ? "" : state.src.slice(from, end);
  if (!inside.trim() || inside.includes("\n") || inside.includes("[[")) return false;
  if (!silent) {
    const bar = inside.indexOf("|");
    const token = state.push("wiki", "", 0);
    token.meta = { embeds, target: (bar < 0 ? inside : inside.slice(0, bar)).trim() };
    token.content = (bar < 0 ? inside : inside.slice(bar + 1)).trim();
  }
  state.pos = end + 2;
  return true;
});
md.renderer.rules.wiki = (tokens: Token[], i: number) => {
  const { embeds, target } = tokens[i].meta as { embeds: boolean; target: string };
  return embeds ? `<span class="embed" data-target="${escape(target)}"></span>` : `<a class="wiki" data-target="${escape(target)}">${escape(tokens[i].content)}</a>`;
};
md.renderer.rules.image = (tokens: Token[], i: number) => `<span class="picture">${escape(tokens[i].content || String(tokens[i].attrGet("src") ?? ""))}</span>`;
md.renderer.rules.link_open = (tokens: Token[], i: number, options, _env, self) => {
  const href = String(tokens[i].attrGet("href") ?? "");
  if (!/^[a-z][a-z0-9+.-]*:/i.test(href)) {
    let target = href;
    try { target = decodeURIComponent(href); } catch { /* as it stands there */ }
    tokens[i].attrs = [["class", "wiki"], ["data-target", target]];
  }
  return self.renderToken(tokens, i, options);
};
// Columns are aligned by classes: the page allows no style in elements.
md.core.ruler.push("align", (state) => {
  for (const token of state.tokens) {
    const style = String(token.attrGet("style") ?? "");
    if (style) token.attrs = [["class", `align-${/center|right/.exec(style)?.[0] ?? "left"}`]];
  }
});

/** What stands behind the frontmatter. */
export const bodyOf = (markdown: string): string => markdown.replace(FRONTMATTER, "");

export function renderMarkdown(markdown: string): DocumentFragment {
  const html = md.render(spell(bodyOf(markdown.replace(/^\ufeff/, "")).replaceAll("\r\n", "\n")));
  const made = DOMPurify.sanitize(html, {
    RETURN_DOM_FRAGMENT: true, ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ["href", "class", "start", "data-target"], ALLOW_DATA_ATTR: false, ADD_URI_SAFE_ATTR: ["data-target"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  });
  for (const link of made.querySelectorAll<HTMLAnchorElement>("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    link.title = link.href;
  }
  for (const item of made.querySelectorAll("li")) {
    const text = item.firstChild?.nodeType === Node.TEXT_NODE ? item.firstChild : item.firstElementChild?.tagName === "P" ? item.firstElementChild.firstChild : null;
    const box = /^\[([ xX])\] /.exec(text?.nodeValue ?? "");
    if (!box) continue;
    text!.nodeValue = `${box[1] === " " ? "☐" : "☑"} ${text!.nodeValue!.slice(4)}`;
    item.classList.add("task");
  }
  return made;
}
