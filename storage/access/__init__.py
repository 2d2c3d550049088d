"""Credentials and the people behind them: tokens, sign-ins, roles of callers, memberships."""
