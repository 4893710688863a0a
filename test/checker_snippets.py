"""Code of evaluations, correct and not, for which two type checkers have to agree. A snippet is one
entry, separated by lines of ----; comments would shift nothing, so there are few."""

TEXT = r"""
const a: number = 1; a
----
const a: string = 1
----
let a = 1; a = 'x'
----
const a = 1; a = 2
----
let a: number | string = 1; a.toFixed(); a = 'b'; a.toFixed()
----
nope
----
nots.list()
----
notes.serach({query: 'a'})
----
const n = await notes.get('a'); n.title
----
const n = await notes.get('a'); n!.title.toUpperCase()
----
const n = await notes.get('a'); if (n) n.content.length
----
const n = await notes.get('a'); n?.contents
----
await notes.list({typename: 'a'})
----
await notes.list({typeName: 1})
----
const all = await notes.list({limit: 2}); all.map(n => n.nope)
----
await notes.create({type: 'a', title: 'b', content: 'c', metadata: {x: [1]}})
----
await notes.create({title: 'b'})
----
await notes.create({type: 'a', title: 'b', content: 1})
----
await notes.update('a', {content: 'b'})
----
await notes.search({query: 'a', useRegex: 'yes'})
----
const found = await notes.search({query: 'a'}); found[0].excerpt.slice(0, 3)
----
notes.list().length
----
for (const n of notes.list()) n
----
for (const n of await notes.list()) n.id.length
----
for await (const n of [notes.get('a')]) n?.id
----
utils.formatDate(new Date(), 'YYYY')
----
utils.formatDate({}, 1)
----
utils.nope()
----
await links.getForNote('a')
----
(await links.getForNote('a')).outgoing_internal.map(l => l.line + 1)
----
(await links.getForNote('a')).nothing
----
await hierarchy.nope('a')
----
await tools.run('jq', {args: ['.']})
----
await tools.run(1)
----
(await tools.pipe([{tool: 'jq'}])).exitCode.toFixed()
----
api.search('words').nope
----
console.log('a', 1, {}); console.nope()
----
fetch('https://a.test')
----
fs.readFileSync('/a')
----
document.title
----
window.alert('a')
----
process.exit(1)
----
require('fs')
----
Buffer.from('a')
----
setTimeout(() => {}, 10).toFixed()
----
setTimeout('a', 10)
----
await sleep(10); await sleep('x')
----
structuredClone({a: 1}).a.toFixed(); structuredClone({a: 1}).b
----
new TextEncoder().encode('a').byteLength; new TextEncoder().encode(1)
----
new URL('https://a.test').searchParams.get('a')!.length; new URL()
----
atob('a').length; btoa(1)
----
crypto.randomUUID().length; crypto.subtle
----
new AbortController().signal.aborted; new AbortController().stop()
----
performance.now() + performance.then()
----
queueMicrotask(() => 1); queueMicrotask()
----
return 1
----
return nope
----
const x: number = 'a'; return x
----
if (1 > 0) return 'a'; return 1 as string
----
async function main() { return await notes.list() } main()
----
async function main(): Promise<string> { return 1 }
----
function f(a: number) { return a } f('x')
----
function f(a: number) { return a } f()
----
function f(a: number) { return a } f(1, 2)
----
function f(a: number, b?: string) { return b.length } f(1)
----
function f(a: number, ...rest: string[]) { return rest } f(1, 'a', 2)
----
function f(a = 1) { return a.length } f()
----
function f(a, b) { return a + b } f(1, 2)
----
function f({a, b}) { return a + b } f({a: 1})
----
const f = x => x.y; f(1)
----
const all = []; all.push(1); all.push('a'); all
----
const all = []; all.push(1); all[0].length
----
const all: number[] = []; all.push('a')
----
let x; x = 1; x.toFixed(); x = 'a'; x.toFixed()
----
try { nope() } catch (e) { e.message }
----
try { null!.a } catch { } finally { }
----
throw new Error('a', {cause: 1})
----
throw new Eror('a')
----
type A = {a: number}; const a: A = {a: 1, b: 2}
----
type A = {a: number}; const a: A = {}
----
interface A { a: number } interface A { b: string } const a: A = {a: 1}
----
interface A { readonly a: number } const a: A = {a: 1}; a.a = 2
----
interface A { f(): void } class B implements A {}
----
interface A extends B {} interface B { b: 1 } const a: A = {b: 2}
----
interface A extends A {}
----
type A = A
----
type A<T> = T extends string ? 1 : 2; const a: A<'x'> = 2
----
type A<T> = {[K in keyof T]?: T[K]}; const a: A<{b: number}> = {b: 'x'}
----
type A = Partial<{a: number}>; const a: A = {}; a.a.toFixed()
----
type A = Pick<{a: 1, b: 2}, 'c'>
----
type A = Record<'a' | 'b', number>; const a: A = {a: 1}
----
const a: Record<string, number> = {x: 1}; a.y.toFixed(); a.z = 'b'
----
type A = Omit<{a: 1, b: 2}, 'a'>; const a: A = {b: 3}
----
type A = Parameters<typeof parseInt>[0]; const a: A = 1
----
type A = Awaited<ReturnType<typeof notes.list>>; const a: A = 1
----
type A = `a-${string}`; const a: A = 'b'
----
type A = Uppercase<'a'>; const a: A = 'a'
----
type A = keyof {a: 1, b: 2}; const a: A = 'c'
----
type A = {a: 1}['b']
----
type A = [number, string?]; const a: A = [1, 2]
----
type A = [number, ...string[]]; const a: A = [1, 'a', 2]
----
const [a, b]: [number, string] = [1]; a
----
const [a, b, c] = [1, 'a'] as const; c
----
const {a, b} = {a: 1}; b
----
const {a, ...rest} = {a: 1, b: 2}; rest.a
----
const o = {a: 1}; o.b = 2
----
const o = {a: 1} as const; o.a = 2
----
const o = {a: 1, a: 2}
----
const o = {'a b': 1}; o['a c']
----
const o = {f() { return this.g() }}; o.f()
----
const o: {a?: number} = {}; o.a + 1
----
const o = {a: {b: null as string | null}}; o.a.b.length
----
const o = {get a() { return 1 }}; o.a = 2
----
enum A { x, y } const a: A = 'x'
----
enum A { x = 'a', y = 'b' } const a: A = A.z
----
enum A { x } A.x = 1
----
const enum A { x = 1 } A.x.toFixed(); A['y']
----
namespace N { export const a = 1; const b = 2 } N.b
----
namespace N { export type T = string } const a: N.T = 1
----
class A { a = 1 } new A().b
----
class A { private a = 1 } new A().a
----
class A { #a = 1 } new A().#a
----
class A { protected a = 1 } class B extends A { f() { return this.a } } new B().a
----
class A { a: number }
----
class A { constructor(public a: number, private b = 'x') {} } new A(1).b
----
class A { constructor(public a: number) {} } new A()
----
class A { static a = 1; static { this.b } } A.a
----
abstract class A { abstract f(): void } new A()
----
abstract class A { abstract f(): void } class B extends A {}
----
class A { f(a: number) {} } class B extends A { f(a: string) {} }
----
class A extends B {} class B {}
----
class A { readonly a = 1; f() { this.a = 2 } }
----
class A<T> { constructor(public a: T) {} } new A(1).a.length
----
class A { get a() { return 1 } set a(x: number) {} } new A().a = 'x'
----
class A { override f() {} }
----
class A { f(): this { return this } g() {} } new A().f().g().h()
----
class A { constructor() { super() } }
----
class A {} class B extends A { constructor() { this.x; super() } }
----
function f<T>(a: T): T { return a } f<string>(1)
----
function f<T extends {id: string}>(a: T) { return a.id } f({})
----
function f<T, K extends keyof T>(a: T, k: K) { return a[k] } f({a: 1}, 'b')
----
function f<T>(a: T[]): T { return a[0] } f([1]).length
----
function f<T = string>(): T { return 1 as any } f().toFixed()
----
const f = <T,>(a: T) => a; f(1).length
----
function f(a: string): string; function f(a: number): number; function f(a: any) { return a } f(true)
----
function f(a: string): a is 'x' { return a === 'x' } const s = 'y' as string; if (f(s)) { const t: 'z' = s }
----
function f(a: unknown): asserts a is string {} const u: unknown = 1; f(u); u.length; u.nope
----
const u: unknown = 1; u.a
----
const u: unknown = 1; if (typeof u === 'string') u.length; else u.length
----
const a: string | number = Math.random() > 1 ? 'a' : 1; if (typeof a === 'string') a.toFixed()
----
const a = [1, 'b', null].filter(x => x !== null); a[0].toFixed()
----
const a: {k: 'a', x: 1} | {k: 'b', y: 2} = JSON.parse('{}'); if (a.k === 'a') a.y
----
function f(a: 'x' | 'y') { switch (a) { case 'x': return 1; case 'z': return 2 } }
----
function f(a: 'x' | 'y'): number { switch (a) { case 'x': return 1 } }
----
function f(): number { }
----
function f(): never { }
----
function f(): void { return 1 }
----
const a: never = 1
----
const a: null = undefined
----
const a: object = 1
----
const a: {} = null
----
const a: symbol = Symbol('a'); a + 1
----
const a: bigint = 1
----
1n + 1
----
'a' - 1
----
'a' * 'b'
----
-'a' + +'b' + ~'c'
----
1 + {} + null
----
[] + {}
----
if (1 === 'a') 1
----
const a = 1 as string
----
const a = 1 as unknown as string; a.length
----
const a = <string>'x'; a.nope
----
const a = {a: 1} satisfies {a: string}
----
const a = {a: 1, b: 2} satisfies Record<string, number>; a.c
----
'a'.length = 2
----
'a'.toUpperCase(1)
----
'a'.at(0).length
----
'a'.replaceAll('a', 'b').nope
----
[1, 2].map(x => x.length)
----
[1, 2].reduce((a, b) => a + b, '')
----
[1, 2].includes('a')
----
[3, 1].toSorted((a, b) => b - a).with(0, 'a')
----
[[1], [2]].flat()[0].length
----
Object.entries({a: 1}).map(([k, v]) => v.length + k.length)
----
Object.fromEntries([['a', 1]]).a.length
----
Object.groupBy([1, 2], x => x > 1 ? 'a' : 'b').c
----
Object.keys(1)
----
new Map<string, number>([['a', 'b']])
----
new Map([['a', 1]]).get('a').toFixed()
----
new Set([1]).has('a')
----
new Set([1]).union(new Set(['a'])).has(true)
----
new Date('a').getYears()
----
new Date({})
----
JSON.parse(1)
----
JSON.stringify({a: 1}).nope
----
Math.max('a')
----
Number.isNaN('a'); isNaN('a')
----
parseInt(1)
----
await Promise.all([1, notes.list()]).then(([a, b]) => b.map(n => n.id) + a.nope)
----
await Promise.allSettled([notes.get('a')]).then(r => r[0].value)
----
new Promise<number>(r => r('a'))
----
Promise.withResolvers<number>().resolve('a')
----
await 1; (await Promise.resolve('a')).toFixed()
----
const f = async () => 1; f().toFixed()
----
function* g() { yield 1 } for (const x of g()) x.length
----
async function* g() { yield 1 } for (const x of g()) x
----
function* g(): Generator<string> { yield 1 }
----
for (const x of 5) x
----
for (const x in 5) x.toFixed()
----
for (const [k, v] of new Map([['a', 1]])) v.length
----
const {length} = 5
----
const f = 1; f()
----
const o = {}; new o()
----
new (class { constructor(a: string) {} })(1)
----
undefined.a
----
null.a
----
let a: string; a.length
----
{ let b = 1 } b
----
a; let a = 1
----
let a = 1; let a = 2
----
var a = 1; var a = 'x'
----
function a() {} const a = 1
----
type a = 1; type a = 2
----
const a: Nope = 1
----
const a: Strng = 'a'
----
const a: typeof nope = 1
----
const a: Map<string> = new Map()
----
const a: string<number> = 'a'
----
const a: Array = []
----
label: for (;;) { break nolabel }
----
break
----
continue
----
delete notes
----
const a = {b: 1}; delete a.b
----
arguments
----
this.a
----
super.a
----
new.target
----
import.meta.url
----
import x from 'some-lib'; x
----
import * as y from 'some-lib'; y
----
export const a: string = 1
----
export function f(): string { return 1 } return f()
----
export default 1
----
if (1) {
----
const = 1
----
let a = ;
----
foo(
----
'unterminated
----
`unterminated
----
/unterminated
----
/[/
----
/(?<a>x)\k<b>/
----
/a/gg
----
1 +
----
const a = 0123
----
a ? b
----
class { }
----
function (a) { }
----
function f(a, a) { 'use strict' }
----
async function f() { await } f
----
function f() { await 1 }
----
const f = () => { yield 1 }
----
type A = { a: }
----
type A = ;
----
interface { }
----
enum { }
----
@dec class A {}
----
function d(v: any, c: ClassDecoratorContext) {} @d class A {} @d function f() {}
----
let a!: number; a.toFixed(); let b!: number = 1
----
const a = 1, b: string = a
----
declare const d: number; d.length
----
function f(this: {a: number}) { return this.b } f()
----
using r = {[Symbol.dispose]() {}}; r.nope
----
using r = 1
----
const a = [1, 2, 3] as const; a.push(4)
----
const s: unique symbol = Symbol(); const t: typeof s = Symbol()
----
let o: {[k: string]: number} = {a: 'x'}
----
let o: {[k: number]: string} = {a: 'x'}
----
const f: (a: number) => string = (a) => a
----
const f: (a: number) => void = (a: string) => {}
----
const a: () => Promise<void> = async () => 1
----
type F = new (a: number) => Date; const f: F = Date; new f('x')
----
type J = string | number | J[] | {[k: string]: J}; const j: J = {a: [1, {b: true}]}
----
type T<A extends unknown[]> = A extends [infer H, ...infer R] ? [H, ...T<R>] : []; const t: T<[1, 2]> = [1, 3]
----
type D<T> = T extends Promise<infer U> ? D<U> : T; const d: D<Promise<Promise<string>>> = 1
----
const n: Note = await notes.get('a')
----
const n: Note | null = await notes.get('a'); n.metadata
----
const rows: NoteRow[] = await notes.list(); rows[0].content
----
const m: Metadata = {a: 1}; m.a.b.c
----
const r = await notes.rename('a', 'b'); r.nope
----
const h = (await notes.history('a'))[0]; h.revision.length
----
await vaults.list(1, 2, 3)
----
customFunctions.nope()
----
context.anything.at.all
----
// @ts-expect-error
const a: number = 1
----
// @ts-ignore
const a: number = 'x'
----
// @ts-nocheck
const a: number = 'x'
----
const a = 'é😀'; a.nope
----
const é = 1; é.nope; const 名 = 'x'; 名.nope()
----
let x = 1; x = x++ + +'1'; x ??= 2; x ||= 'a'
----
const a = null ?? 1; a.length
----
const a = {b: undefined as undefined | {c: number}}; a.b?.c.toFixed(); a.b.c
----
const o = {a: 1}; for (const k in o) o[k]
----
const o = {a: 1}; const k = 'a' as string; o[k]
----
const t: [a: number, b: string] = ['x', 1]
----
const f = (a: number, b) => a + b; f(1)
----
const f = function g(n: number): number { return n ? g('x') : 1 }
----
if (notes.list) 1
----
if (notes.list()) 1
----
const a = void 0; a.b
----
const p = notes.list(); p.map(n => n)
----
const d = new Date(); d - new Date(); d + 1; d * 'x'
----
const x = typeof 1; x === 'strng'
----
const e = new Error('a'); e.code
----
class E extends Error { code = 1 } try { throw new E() } catch (e) { if (e instanceof E) e.nope }
----
const w = new WeakMap<string, number>()
----
const re = /(?<y>\d+)/.exec('1'); re.groups.y
----
const b = new Uint8Array(2); b.push(1); b[0] = 'x'
----
const iter = [1].values().map(x => x + 1); iter.nope
----
Array.fromAsync([notes.get('a')]).then(all => all[0].id)
----
Iterator.from([1]).take('x')
----
Promise.try(() => 1).then(x => x.length)
"""

SNIPPETS = [s.strip("\n") for s in TEXT.split("----\n")]
