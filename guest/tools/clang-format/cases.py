"""clang-format, compared with Debian's of the same version."""
from compare import case, debian

REFERENCE = {"clang-format": debian("../lib/llvm-19/bin/clang-format")}

CPP = """#include <vector>
#include "b.h"
#include <algorithm>
#include "a.h"
namespace  one { template<class T>class Stack:public Base<T>{public:Stack( ):top_{nullptr}{}
  virtual ~Stack();  T*pop( )const{return top_;}  private: T *top_;// the last
int  count=0;   /* how many
of them */ }; }
int main(int argc,char**argv){ std::vector<int>v{1,2,3};for(auto&x:v){if(x>1)std::cout<<x<<std::endl;else continue;}
auto f=[&](int a,int b)->int{return a+b;}; switch(argc){case 1:return f(1,2);default:break;}
const char*text="a very long string that does not fit into eighty columns of a line, and so is broken";
return some_function_with_a_long_name(first_argument_of_it,second_argument_of_it,third_argument);}
"""
C = """struct point{int x,y;};typedef   struct{unsigned a:1;unsigned long bb:2;}flags;
#define SQUARE(x)   ((x)*(x))
#define LONG_MACRO(a,b)  do{ first(a);\\
   second(b); }while(0)
static const struct point points[]={{1,2},{30,40},{500,600}};
int*find(const int*p,size_t n){for(size_t i=0;i<n;i++)if(p[i]==0)goto out;
out:return NULL;}
"""
CONCEPTS = """template<typename T>concept Small=sizeof(T)<=4;template<Small T>requires std::integral<T>
auto twice(T t)->decltype(t+t){co_return t<=>t;}
"""
MODERN = "int a\\N{GREEK SMALL LETTER BETA}b,größe , c\\u00e4;auto s=u8\"ä€😀 breite Zeichen 漢字\"_x+0x1'000p3;\n"
KEYWORDS = "void f( )  __arm_streaming  __arm_inout(\"za\") ;void g( )__arm_streaming_compatible{ }\n"
JS = """import {b,a} from './b';import*as c from "c";
export class X extends Y{async*f(a=1,...b){const {d,e:{f}}=await g`text ${a+b} more`;return a?.b??c}}
const r=/ab+c/gi.test(s)?x=>({x}):function(){ }
"""
TS = """interface A<T extends object={}>{readonly [k:string]:T|undefined;f?(x:number):asserts x is 1}
@Dec({a:1}) export abstract class B<T> implements A<T>{constructor(private readonly x:string){super()}}
type M<T>={[K in keyof T]?:T[K] extends Function?never:K};enum E{A,B='x'}
"""
JAVA = """package a;import java.util.*;import static org.X.y;import com.b.C;
@Override public class A<T extends B&C>implements D{int[]f(final List<?>l)throws E{
for(Map.Entry<String,Integer>e:m.entrySet()){synchronized(this){x->x+1;}}return new int[]{1,2};}}
"""
CS = """using System;using System.Linq;namespace N{public class A:B{public int X{get;set;}=3;
[Test]public async Task<int>F(string s)=>await G($"a{s}b");var q=from x in y where x>1 select x;}}
"""
OBJC = """#import <Foundation/Foundation.h>
@interface A:NSObject<B>@property(nonatomic,strong)NSString*s;-(void)f:(int)a with:(id)b;@end
@implementation A -(void)f:(int)a with:(id)b{[self f:1 with:@{@"k":@[@1,@2]}];[x y:^(int z){return;}];}@end
"""
PROTO = 'syntax="proto3";package p;message M{repeated int32 a=1[packed=true];oneof x{string b=2;}map<string,M>c=3;}\n'
JSON = '{"a":[1,2,{"b":null}],"long":["aaaaaaaaaaaaaaaaaaaa","bbbbbbbbbbbbbbbbbbbbbbbb","cccccccccccccccccccccc"],"e":{}}\n'
TABLEGEN = 'class A<int x,string y="">:B<x>{let C=[D,E];bits<3>f={0,1,1};}def X:A<1>{dag d=(op $a,i32:$b);}\n'
VERILOG = "module m(input clk,output reg[3:0]q);always@(posedge clk)begin if(a)q<=q+1;else q<=0;end endmodule\n"
TEXTPROTO = "a:1 b{c:'x' d:[1,2,3]} e<f:2>\n"
STYLE = "BasedOnStyle: Mozilla\nIndentWidth: 3\nColumnLimit: 60\nAlignConsecutiveAssignments: Consecutive\n"
TWO = "---\nLanguage: Cpp\nIndentWidth: 8\n---\nLanguage: JavaScript\nIndentWidth: 1\n...\n"
TREE = {".clang-format": STYLE, "src/a.cpp": CPP, "src/deep/b.h": C, "src/deep/.clang-format":
        "BasedOnStyle: InheritParentConfig\nUseTab: Always\nTabWidth: 3\n"}
ODD = """{BasedOnStyle: LLVM, BreakBeforeBraces: Custom, BraceWrapping: {AfterFunction: true, SplitEmptyFunction: false},
 AlignTrailingComments: {Kind: Always, OverEmptyLines: 1}, IncludeCategories: [{Regex: '^<', Priority: 2}, {Regex: '.*', Priority: 1}],
 IncludeBlocks: Regroup, InsertBraces: true, QualifierAlignment: Right, SeparateDefinitionBlocks: Always,
 ReflowComments: false, PointerAlignment: Middle, InsertNewlineAtEOF: true, RemoveParentheses: ReturnStatement,
 IntegerLiteralSeparator: {Decimal: 3}, Macros: ['X(a)=int a;'], StatementMacros: [Q_UNUSED], SpaceAfterTemplateKeyword: false}"""
# Whole pages of 4,096 bytes, and more than a program would map.
PAGES = ("int x=1;\n" * 40000)[:4096 * 40 - 1] + "\n"


def styled(style, name="a.cpp", code=CPP):
    return case(f"--style={style}", name, files={name: code})


def spoken(name, code, *args):
    return case(*args, f"--assume-filename={name}", stdin=code)


CASES = {"clang-format": [
    case(stdin=CPP),
    *(styled(name) for name in ("LLVM", "Google", "Chromium", "Mozilla", "WebKit", "Microsoft", "GNU", "llvm", "none")),
    styled("{BasedOnStyle: Google, IndentWidth: 8, ColumnLimit: 50}", "a.c", C),
    styled(ODD), styled(ODD, "a.h", C),
    spoken("a.c", C), spoken("a.cpp", CONCEPTS, "--style={Standard: c++20}"), spoken("a.cc", MODERN),
    spoken("a.cpp", KEYWORDS), spoken("x.js", JS), spoken("x.ts", TS, "--style=Google"), spoken("A.java", JAVA),
    spoken("a.cs", CS, "--style=Microsoft"), spoken("a.m", OBJC), spoken("a.h", OBJC), spoken("a.proto", PROTO),
    spoken("a.json", JSON), spoken("a.td", TABLEGEN), spoken("a.sv", VERILOG), spoken("a.textproto", TEXTPROTO),
    spoken("a.json", JSON, "--style={BreakArrays: false, ColumnLimit: 40}"),
    # The style is looked for from the file upwards.
    case("src/a.cpp", "src/deep/b.h", files=TREE),
    case("--style=file", "-i", "src/a.cpp", "src/deep/b.h", files=TREE),
    case("--style=file:.clang-format", "x/y.c", files={**TREE, "x/y.c": C}),
    case("--assume-filename=src/deep/none.cpp", stdin=CPP, files=TREE),
    case("--style=file", "--fallback-style=none", "a.cpp", files={"a.cpp": CPP}),
    case("--style=file", "--fallback-style=WebKit", "a.cpp", files={"a.cpp": CPP}),
    case("a.c", "b.js", files={"_clang-format": TWO, "a.c": C, "b.js": JS}),
    case("-i", "a.c", "b.c", "done.c", files={"a.c": C, "b.c": C.replace("\n", "\r\n"), "done.c": "int a;\n"}),
    case("src/a.cpp", files={**TREE, "src/.clang-format": "Nonsense: 1\n"}),
    case("a.c", files={".clang-format": "DisableFormat: true\nSortIncludes: Never\n", "a.c": C}),
    case("a.c", "b.c", "sub/c.c", files={".clang-format-ignore": "# none of\nb*\n!sub/*\n", "a.c": C, "b.c": C, "sub/c.c": C}),
    case("--list-ignored", "a.c", "b.c", files={".clang-format-ignore": "b.c\n", "a.c": C, "b.c": C}),
    case("--files=list", "-i", files={"list": "a.c\nb.c\n", "a.c": C, "b.c": C}),
    case("@options", files={"options": "--style=Google\na.c\n", "a.c": C}),
    # What is shown, and how it ends.
    case("--dry-run", "-Werror", "a.c", files={"a.c": C}),
    case("--dry-run", "a.c", files={"a.c": C}),
    case("-n", "-Werror", "--ferror-limit=1", "a.c", files={"a.c": "int a;\n"}),
    case("--output-replacements-xml", "a.cpp", files={"a.cpp": CPP}),
    case("--output-replacements-xml", "--cursor=40", stdin=CPP),
    case("--cursor=100", "a.cpp", files={"a.cpp": CPP}),
    case("--lines=2:3", "--lines=6:6", "a.c", files={"a.c": C}),
    case("--lines=3:2", "a.c", files={"a.c": C}),
    case("--offset=60", "--length=40", "a.c", files={"a.c": C}),
    case("--offset=6000", "a.c", files={"a.c": C}),
    case("--sort-includes", "--style={SortIncludes: Never}", stdin=CPP),
    case("--sort-includes=0", stdin=CPP),
    case("--qualifier-alignment=right", stdin="const int a;static const volatile char*b;\n"),
    case("--dump-config"), case("--dump-config", "--style=GNU"),
    case("--dump-config", "src/deep/b.h", files=TREE),
    case("--verbose", "a.c", files={"a.c": C}),
    case("--fail-on-incomplete-format", stdin="void f( {\n"), case(stdin="int f(){{{((\n} }\n#if 1\n#else\n"),
    # Odd input.
    case("a.c", files={"a.c": ""}), case("a.c", files={"a.c": "int a"}), case("a.c", files={"a.c": "int  a;\n" * 3 + "\n\n\n"}),
    case("a.c", files={"a.c": b"\xef\xbb\xbfint  a;\r\nint b ;\r\n"}), case("a.c", files={"a.c": b"\xff\xfei\0n\0t\0"}),
    case("a.c", files={"a.c": b"int a\x00 = 1 ;\nchar*s=\"\xff\xfe\x80\";\n// \xc3\n"}),
    case("a.c", files={"a.c": PAGES}), case("-i", "a.c", files={"a.c": PAGES}), case("a.c", files={"a.c": PAGES[:-1]}),
    case(stdin="// clang-format off\nint  a;\n// clang-format on\nint  b;\n"),
    case("missing.c"), case("a.c", "missing.c", files={"a.c": C}), case("folder", files={"folder/": ""}),
    case("--style=nothing", stdin=C), case("--style={IndentWidth: x}", stdin=C), case("--no-such-option"), case("-i", stdin=C),
    case("--help"), case("--help-hidden"),
    case("--version", check=lambda r: r.stdout == b"clang-format version 19.1.7\n" and r.exit == 0),
]}
