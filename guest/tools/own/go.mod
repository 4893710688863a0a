module cloche/tools/own

go 1.27.3

require (
	github.com/BurntSushi/toml v1.5.0
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/google/uuid v1.6.0
)
