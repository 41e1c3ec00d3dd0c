package ensembles

// ZooCfg is zooCfg, for external tests.
var ZooCfg = zooCfg
