"""HTTP: thin handlers over the use cases. docs/spec/http.md."""
