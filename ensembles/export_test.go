package ensembles

// ZooCfg is zooCfg, for external tests.
var ZooCfg = zooCfg

// Complaint is complaint.
var Complaint = complaint
