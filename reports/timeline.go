package reports

func timelineFigure(in Input, w window, faults []faultSpan) figure { return figure{Name: "timeline"} }
