module cloche/checker

go 1.26

require github.com/microsoft/typescript-go v0.0.0-20260708042240-2bd066d87f5b
