package app

import (
	"net"
	"os"
)

// tell tells systemd a state of its service, READY=1 or STOPPING=1, where the unit has Type=notify: "systemctl start" returns when the node takes
// calls, or has failed. Elsewhere it does nothing. See sd_notify(3).
func (g *Gateway) tell(state string) {
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close()
	}
	if err != nil {
		g.slog.Error("systemd cannot be told how the node is", "error", err)
	}
}
