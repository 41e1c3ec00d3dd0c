package txnlog_test

import (
	"fmt"
	"io"
	"strings"
	"time"

	"locklab/ensembles/txnlog"
)

// dump prints a log as ZooKeeper's own tool does: TxnLogToolkit of 3.8 with English and UTC.
func dump(r io.Reader, name string) (string, error) {
	l, err := txnlog.NewReader(r, name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("ZooKeeper Transactional Log File with dbid 0 txnlog format version 2\n")
	for n := 0; ; n++ {
		rec, err := l.Next()
		if err == io.EOF {
			fmt.Fprintf(&b, "EOF reached after %d txns.\n", n)
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		line := fmt.Sprintf("%s session 0x%x cxid 0x%x zxid 0x%x %s %s",
			time.UnixMilli(rec.Time).UTC().Format("1/2/06, 3:04:05 PM MST"),
			uint64(rec.Session), uint64(int64(rec.Cxid)), uint64(rec.Zxid), rec.Type, details(rec.Txn))
		b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
}

// details returns what the tool prints for a transaction's body: the fields of the types that it knows
// (getFormattedTxnStr), and jute's text form of the others.
func details(t txnlog.Txn) string {
	switch t.Type {
	case txnlog.CreateSession:
		return fmt.Sprintf("%d\n", t.Timeout.Milliseconds())
	case txnlog.CloseSession:
		if t.Closes == nil {
			return ""
		}
		var all []string
		for _, p := range t.Closes {
			all = append(all, escape(p))
		}
		return "v{" + strings.Join(all, ",") + "}\n"
	case txnlog.Multi:
		var all []string
		for _, o := range t.Ops {
			var sub jute
			sub.body(o)
			all = append(all, o.Type.String()+":"+javaString(sub))
		}
		return strings.Join(all, ";")
	}
	o := t.Ops[0]
	switch o.Type {
	case txnlog.Create, txnlog.Create2:
		return fmt.Sprintf("%s,%s,%s,%t,%d", o.Path, javaString(o.Data), acls(o.ACL), o.Ephemeral, o.ParentCVersion)
	case txnlog.CreateContainer:
		return fmt.Sprintf("%s,%s,%s,%d", o.Path, javaString(o.Data), acls(o.ACL), o.ParentCVersion)
	case txnlog.CreateTTL:
		return fmt.Sprintf("%s,%s,%s,%d,%d", o.Path, javaString(o.Data), acls(o.ACL), o.ParentCVersion, o.TTL.Milliseconds())
	case txnlog.SetData, txnlog.Reconfig:
		return fmt.Sprintf("%s,%s,%d", o.Path, javaString(o.Data), o.Version)
	case txnlog.SetACL:
		var all []string
		for _, a := range o.ACL {
			all = append(all, "s{"+acl(a)+"}")
		}
		return fmt.Sprintf("%s,v{%s},%d\n", escape(o.Path), strings.Join(all, ","), o.Version)
	case txnlog.Error:
		return fmt.Sprintf("%d\n", o.Code)
	}
	return escape(o.Path) + "\n" // deletes
}

// acl returns jute's text form of an ACL, and acls returns Java's text form of a list of them.
func acl(a txnlog.ACL) string {
	return fmt.Sprintf("%d,s{%s,%s}", a.Perms, escape(a.Scheme), escape(a.ID))
}

func acls(list []txnlog.ACL) string {
	var all []string
	for _, a := range list {
		all = append(all, acl(a)+"\n")
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// escape returns jute's text form of a string (ToStringOutputArchive).
func escape(s string) string {
	return "'" + strings.NewReplacer("\x00", "%00", "\n", "%0A", "\r", "%0D", ",", "%2C", "}", "%7D", "%",
		"%25").Replace(s)
}

// javaString decodes UTF-8 as Java does for the bytes in these tests: each byte that is not part of a character
// becomes a replacement character.
func javaString(b []byte) string { return string([]rune(string(b))) }
