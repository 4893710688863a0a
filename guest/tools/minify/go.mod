module cloche/tools/minify

go 1.27.3

tool github.com/tdewolff/minify/v2/cmd/minify

require (
	github.com/djherbis/atime v1.1.0 // indirect
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/jmoiron/sqlx v1.4.0 // indirect
	github.com/pelletier/go-toml v1.9.5 // indirect
	github.com/tdewolff/argp v0.0.0-20260913163208-9b59948ed567 // indirect
	github.com/tdewolff/minify/v2 v2.24.25 // indirect
	github.com/tdewolff/parse/v2 v2.8.20 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
