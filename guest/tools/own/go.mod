module cloche/tools/own

go 1.27.3

require github.com/BurntSushi/toml v1.5.0
