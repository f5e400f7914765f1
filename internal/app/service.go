package app

import (
	"net"
	"os"
)

// notifySystemd reports the state of the service, READY=1 or STOPPING=1, where the unit has Type=notify: "systemctl start" returns when the node
// is ready or has failed. Elsewhere it does nothing. See sd_notify(3).
func (g *Gateway) notifySystemd(state string) {
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
		g.slog.Error("systemd could not be notified of the state of the node", "error", err)
	}
}
