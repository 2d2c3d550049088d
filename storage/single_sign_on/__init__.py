"""Single sign-on with OpenID Connect (D500 to D508): providers, rules, people, sessions and access tokens.

Nothing here imports allauth, requests or PyJWT before somebody signs in at a provider or sends one of its tokens.
"""
