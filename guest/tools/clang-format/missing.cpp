// What the linker asks for and nothing here reaches. clang-format's lexer is always raw, without
// a preprocessor: whatever calls one has looked before whether it is there.
#include "clang/Lex/Preprocessor.h"

#include <cstdlib>
#include <pwd.h>

using namespace clang;

void Preprocessor::CodeCompleteNaturalLanguage()
{
    abort();
}

void Preprocessor::CodeCompleteIncludedFile(llvm::StringRef, bool)
{
    abort();
}

IdentifierInfo *Preprocessor::LookUpIdentifierInfo(Token &) const
{
    abort();
}

bool Preprocessor::HandleIdentifier(Token &)
{
    abort();
}

bool Preprocessor::HandleComment(Token &, SourceRange)
{
    abort();
}

void Preprocessor::HandleDirective(Token &)
{
    abort();
}

bool Preprocessor::HandleEndOfFile(Token &, bool)
{
    abort();
}

void Preprocessor::CreateString(StringRef, Token &, SourceLocation, SourceLocation)
{
    abort();
}

bool Preprocessor::isInPrimaryFile() const
{
    abort();
}

// There are no users: "~name" is a folder like any other.
extern "C" int getpwnam_r(const char *, struct passwd *, char *, size_t, struct passwd **found)
{
    *found = nullptr;
    return 0;
}

extern "C" int getpwuid_r(uid_t, struct passwd *, char *, size_t, struct passwd **found)
{
    *found = nullptr;
    return 0;
}
