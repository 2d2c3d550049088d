"""Operations on events: the change feed, webhooks and subscriptions."""
