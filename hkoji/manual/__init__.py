"""The texts that come with the package as files: catalogues of translations and rules pages. Reads them; no state."""
