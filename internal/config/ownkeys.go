package config

func (k *checker) ownKeys() { k.positive("own_keys.max_per_account", int64(k.c.OwnKeys.MaxPerAccount)) }
