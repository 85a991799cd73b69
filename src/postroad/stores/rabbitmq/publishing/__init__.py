"""What goes to the broker: first copies, copies that replace others, results, and the outbox.

HeaderTemplates → PackedMessage ┐
Routes → RoutedCopy ────────────┴→ Broker → Publisher → four channels with confirms
"""
