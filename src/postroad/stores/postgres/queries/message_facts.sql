-- All that is known about a message.
select postroad.message_facts_v1($1, $2)
