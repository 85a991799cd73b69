-- All that is known about a message.
select postroad.message_facts($1, $2)
