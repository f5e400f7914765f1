package webhook

import "context"

// Secret is what an account's events are signed with now.
func (s *Secrets) Secret(ctx context.Context, account string) (string, error) {
	all, err := s.signing(ctx, account)
	if err != nil {
		return "", err
	}
	return all[0], nil
}
