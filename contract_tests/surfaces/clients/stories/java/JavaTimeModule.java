package com.fasterxml.jackson.datatype.jsr310;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.JsonSerializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.module.SimpleModule;
import java.io.IOException;
import java.time.OffsetDateTime;

/** Stands in for the one library of the client that Debian lacks. */
public class JavaTimeModule extends SimpleModule {
    public JavaTimeModule() {
        addSerializer(OffsetDateTime.class, new JsonSerializer<OffsetDateTime>() {
            @Override
            public void serialize(OffsetDateTime time, JsonGenerator json, SerializerProvider all)
                throws IOException {
                json.writeString(time.toString());
            }
        });
        addDeserializer(OffsetDateTime.class, new JsonDeserializer<OffsetDateTime>() {
            @Override
            public OffsetDateTime deserialize(JsonParser json, DeserializationContext context)
                throws IOException {
                return OffsetDateTime.parse(json.getText());
            }
        });
    }
}
