"""Tables of elements for spreadsheets: export and import as xlsx and csv (D460 to D467)."""
