// Package serve shows the runs below a directory in a browser: a list, two runs side by side, and a run while it
// lasts.
//
// In flow: run directories, which are only read, and requests. Out flow: pages.
//
// Whoever asks, and whatever the directories hold, must do no harm. A request is answered only if it names this server
// as its host and comes from one of its own pages or from none ([guard]). Files are opened through an [os.Root], so no
// path and no link leads out of the directory. Names are escaped where they are shown, and a report that somebody else
// made is shown in a sandbox, because it is a page with a script.
package serve
